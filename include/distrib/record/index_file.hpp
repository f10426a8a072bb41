// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/detail/replace_file.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_index.hpp>

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// An index kept beside its file, as DIR/.NAME.index; the dot hides it from patterns. All little-endian:
//   0 "distrIDX" · 8 version u32, 1 · 12 zero u32 · 16 bytes of the record file u64 · 24 its time of change, i64
//   nanoseconds since 1970 · 32 its first header, 12 bytes · 44 its last header, 12 bytes (both zero when it has no
//   records) · 56 number of records u64 · 64 end of each record u64 · CRC-32C of all of this u32
// It saves time and is never believed: one that is damaged, or of another state of the file, counts as none.

namespace detail {

inline constexpr std::size_t index_head_bytes = 64;

/// Time of change of a file, in nanoseconds since 1970; empty when it cannot be told.
template <class = void> auto change_time(const std::string& path) noexcept -> std::optional<std::int64_t> {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

/// What an index of `file` begins with; `offsets` are those of `RecordIndex::offsets`.
template <class = void>
auto index_head(ByteView file, std::int64_t changed, std::span<const std::uint64_t> offsets) noexcept
    -> std::array<std::byte, index_head_bytes> {
  std::array<std::byte, index_head_bytes> head{};
  std::memcpy(head.data(), "distrIDX", 8);
  store_le(head.data() + 8, std::uint32_t{1});
  store_le(head.data() + 16, std::uint64_t{file.size()});
  store_le(head.data() + 24, changed);
  if (offsets.size() > 1) {
    std::memcpy(head.data() + 32, file.data(), record_header_bytes);
    std::memcpy(head.data() + 44, file.data() + offsets[offsets.size() - 2], record_header_bytes);
  }
  store_le(head.data() + 56, std::uint64_t{offsets.size() - 1});
  return head;
}

/// The offsets in the bytes of an index file, when it is one of `file` as it is now; else empty. The ends are bounded
/// by the file, as the first and last header are looked at; their order is left to `RecordIndex::of_offsets`.
template <class = void>
auto decode_index(ByteView index, ByteView file, std::int64_t changed) -> std::optional<std::vector<std::uint64_t>> {
  if (index.size() < index_head_bytes + 4) return std::nullopt;
  const ByteView content = index.first(index.size() - 4);
  const std::uint64_t records = load_le<std::uint64_t>(content.data() + 56);
  if (records > file.size() / record_frame_bytes || content.size() != index_head_bytes + 8 * records ||
      crc32c(content) != load_le<std::uint32_t>(content.data() + content.size()))
    return std::nullopt;
  std::vector<std::uint64_t> offsets(records + 1);
  if (records != 0) std::memcpy(offsets.data() + 1, content.data() + index_head_bytes, 8 * records);
  if (records != 0 && offsets[records - 1] > file.size() - record_frame_bytes) return std::nullopt;
  const std::array<std::byte, index_head_bytes> expected = index_head(file, changed, offsets);
  if (std::memcmp(expected.data(), content.data(), index_head_bytes) != 0) return std::nullopt;
  return offsets;
}

inline auto load_index(const std::string& path) -> std::optional<RecordIndex>;

}  // namespace detail

/// Where the index of a record file is kept: "/data/.train.tfrecord.index" of "/data/train.tfrecord".
template <class = void> [[nodiscard]] auto index_file_path(const std::string& path) -> std::string {
  return detail::join_path(detail::directory_of(path), "." + std::string{detail::file_of(path)} + ".index");
}

/// Keeps the index of the record file `path` beside it, replacing the one there, at once or not at all. `offsets`: of
/// each record, and the end of the last, which must be the size of the file; a `RecordIndex` knows them, and who wrote
/// the file. On failure `ec` is set: the system's reason, or `record_errc::bad_index` when the file is another by now.
template <class = void>
void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets, std::error_code& ec) {
  const std::optional<std::int64_t> changed = detail::change_time(path);
  const MappedFile file{path, ec};
  if (ec) return;
  const std::size_t records = offsets.size() - (offsets.empty() ? 0 : 1);
  if (!changed || offsets.empty() || offsets.back() != file.bytes().size() ||
      (records != 0 &&
       (offsets.back() < record_frame_bytes || offsets[records - 1] > offsets.back() - record_frame_bytes))) {
    ec = record_errc::bad_index;
    return;
  }
  const std::array<std::byte, detail::index_head_bytes> head = detail::index_head(file.bytes(), *changed, offsets);
  const ByteView ends = std::as_bytes(offsets.subspan(1));
  std::array<std::byte, 4> checksum{};
  store_le(checksum.data(), crc32c_extend(crc32c(head), ends));
  detail::replace_file(index_file_path(path), {head, ends, checksum}, ec);
}

/// The same; throws `std::system_error` naming the file.
template <class = void> void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets) {
  std::error_code ec;
  write_index_file(path, offsets, ec);
  if (ec) throw_error(ec, index_file_path(path));
}

/// What `open_index` does beyond opening.
struct OpenIndexOptions {
  bool keep = false;  ///< Write the index beside the file when there is none that fits. If it can't be, all goes on.
};

/// The index of `path`: the one kept beside it when it fits the file, which takes one read of 8 bytes a record, else
/// built from the headers. Failures are those of `RecordIndex`.
template <class = void>
[[nodiscard]] auto open_index(const std::string& path, const OpenIndexOptions& options, Error& error) -> RecordIndex {
  error = {};
  if (std::optional<RecordIndex> kept = detail::load_index(path)) return std::move(*kept);
  const std::optional<std::int64_t> before = detail::change_time(path);
  RecordIndex index{path, error};
  std::error_code ignored;  // a directory that cannot be written to is no failure
  if (!error && options.keep && before == detail::change_time(path)) write_index_file(path, index.offsets(), ignored);
  return index;
}

/// The same; throws `std::system_error`.
template <class = void>
[[nodiscard]] auto open_index(const std::string& path, const OpenIndexOptions& options = {}) -> RecordIndex {
  Error error;
  return detail::or_throw(open_index(path, options, error), error);
}

/// The same; on failure `ec` is set and there are no records.
template <class = void>
[[nodiscard]] auto open_index(const std::string& path, const OpenIndexOptions& options, std::error_code& ec)
    -> RecordIndex {
  return open_index(path, options, detail::CodeOf{ec});
}

inline auto detail::load_index(const std::string& path) -> std::optional<RecordIndex> {
  std::error_code ec;
  const MappedFile kept{index_file_path(path), ec};
  if (ec) return std::nullopt;
  const std::optional<std::int64_t> changed = change_time(path);
  MappedFile file{path, ec};
  if (ec || !changed) return std::nullopt;
  std::optional<std::vector<std::uint64_t>> offsets = decode_index(kept.bytes(), file.bytes(), *changed);
  if (!offsets) return std::nullopt;
  return RecordIndex::of_offsets(path, std::move(file), std::move(*offsets));
}

}  // namespace v0
}  // namespace distrib
