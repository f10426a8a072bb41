// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/index_file.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/record/detail/replace_file.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>

#include <sys/stat.h>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the time of the file's last change, in nanoseconds since 1970; nothing if it is not known.
DISTRIB_DECL auto change_time(const std::string& path) noexcept -> std::optional<std::int64_t> {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

inline constexpr std::size_t index_head_bytes = 64;

// Returns the first bytes of an index of `file`; `offsets`: as returned by `RecordIndex::offsets`.
DISTRIB_DECL auto index_head(ByteView file, std::int64_t changed, std::span<const std::uint64_t> offsets) noexcept
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

// Returns the offsets in the bytes of an index file if it fits `file` as it is now; otherwise nothing. The ends are
// checked against the size of the file, because the first and the last header are read there; their order is checked by
// `RecordIndex::of_offsets`.
DISTRIB_DECL auto decode_index(ByteView index, ByteView file, std::int64_t changed)
    -> std::optional<std::vector<std::uint64_t>> {
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

}  // namespace detail

DISTRIB_DECL void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets,
                                   std::error_code& ec) {
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
  store_le(checksum.data(), detail::crc32c_extend(crc32c(head), ends));
  detail::replace_file(index_file_path(path), {head, ends, checksum}, ec);
}

DISTRIB_DECL auto open_index(const std::string& path, const OpenIndexOptions& options, ErrorRef to) -> RecordIndex {
  detail::ErrorOut error{to};
  if (std::optional<RecordIndex> kept = detail::load_index(path)) return std::move(*kept);
  const std::optional<std::int64_t> before = detail::change_time(path);
  RecordIndex index{path, error};
  std::error_code ignored;  // if the directory cannot be written to, that is no failure
  if (!error && options.keep && before == detail::change_time(path)) write_index_file(path, index.offsets(), ignored);
  return index;
}

namespace detail {

DISTRIB_DECL auto load_index(const std::string& path) -> std::optional<RecordIndex> {
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

}  // namespace detail
}  // namespace v0
}  // namespace distrib
