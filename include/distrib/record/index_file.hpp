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

// An index is kept beside its file, as DIR/.NAME.index; because of the dot, patterns do not match it. All
// little-endian:
//   0 "distrIDX" · 8 version u32, 1 · 12 zero u32 · 16 bytes of the record file u64 · 24 its time of change, i64
//   nanoseconds since 1970 · 32 its first header, 12 bytes · 44 its last header, 12 bytes (both zero if it has no
//   records) · 56 number of records u64 · 64 end of each record u64 · CRC-32C of all of this u32
// It saves time and is never trusted: an index that is damaged, or belongs to another state of the file, counts as
// none.

namespace detail {

/// Returns the index that is kept beside `path`; nothing if there is none that fits the file.
DISTRIB_DECL auto load_index(const std::string& path) -> std::optional<RecordIndex>;

}  // namespace detail

/// Returns where the index of a record file is kept: "/data/.train.tfrecord.index" for "/data/train.tfrecord".
[[nodiscard]] inline auto index_file_path(const std::string& path) -> std::string {
  std::string name{'.'};
  name.append(detail::file_of(path)) += ".index";
  return detail::join_path(detail::directory_of(path), name);
}

/// Writes the index of the record file `path` beside it. An older index is replaced as a whole or not at all.
/// `offsets`: where each record begins, and where the last one ends, which must be the size of the file; so for a file
/// without records only a 0. `RecordIndex::offsets` returns them, and the program that wrote the file knows them. On
/// failure sets `ec`: to the system's reason, to `record_errc::not_regular`, or to `bad_index` if the last offsets do
/// not fit the file, for example because it has changed. The other offsets are checked when the index is read.
DISTRIB_DECL void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets,
                                   std::error_code& ec);

/// This overload throws the error as `std::system_error` that names the file of the index.
inline void write_index_file(const std::string& path, std::span<const std::uint64_t> offsets) {
  std::error_code ec;
  write_index_file(path, offsets, ec);
  if (ec) throw_error(ec, index_file_path(path));
}

/// What `open_index` does besides opening.
struct OpenIndexOptions {
  bool keep = false;  ///< True: if no fitting index is kept beside the file, writes one. It is no error if that fails.
};

/// Returns the index of `path`: the one kept beside it if it fits the file, which takes one read of 8 bytes a record;
/// otherwise one built from the headers.
///
/// Errors: `record_errc::compressed`, `not_regular`, `corrupt_length`, `truncated_header`, `truncated_payload`, or the
/// system's reason; `to` names file, record and offset, and the index is empty. Success clears `to`.
[[nodiscard]] DISTRIB_DECL auto open_index(const std::string& path, const OpenIndexOptions& options, ErrorRef to)
    -> RecordIndex;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto open_index(const std::string& path, const OpenIndexOptions& options = {}) -> RecordIndex {
  Error error;
  return detail::or_throw(open_index(path, options, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/index_file.ipp>
#endif
