// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/record_index.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

// An index kept beside its file, as DIR/.NAME.index; the dot hides it from patterns. All little-endian:
//   0 "distrIDX" · 8 version u32, 1 · 12 zero u32 · 16 bytes of the record file u64 · 24 its time of change, i64
//   nanoseconds since 1970 · 32 its first header, 12 bytes · 44 its last header, 12 bytes (both zero when it has no
//   records) · 56 number of records u64 · 64 end of each record u64 · CRC-32C of all of this u32
// It saves time and is never believed: one that is damaged, or of another state of the file, counts as none.

namespace detail {

DISTRIB_DECL auto load_index(const std::string& path) -> std::optional<RecordIndex>;

}  // namespace detail

/// Where the index of a record file is kept: "/data/.train.tfrecord.index" of "/data/train.tfrecord".
[[nodiscard]] inline auto index_file_path(const std::string& path) -> std::string {
  return detail::join_path(detail::directory_of(path), "." + std::string{detail::file_of(path)} + ".index");
}

/// Keeps the index of the record file `path` beside it, replacing the one there, at once or not at all. `offsets`: of
/// each record, and the end of the last, which must be the size of the file; a `RecordIndex` knows them, and who wrote
/// the file. On failure `ec` is set: the system's reason, or `record_errc::bad_index` when the file is another by now.
DISTRIB_DECL void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets,
                                   std::error_code& ec);

/// The same; throws `std::system_error` naming the file.
inline void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets) {
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
[[nodiscard]] DISTRIB_DECL auto open_index(const std::string& path, const OpenIndexOptions& options, ErrorRef to)
    -> RecordIndex;

/// The same; throws `std::system_error`.
[[nodiscard]] inline auto open_index(const std::string& path, const OpenIndexOptions& options = {}) -> RecordIndex {
  Error error;
  return detail::or_throw(open_index(path, options, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/index_file.ipp>
#endif
