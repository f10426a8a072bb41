// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One file in a zip archive.
struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;  ///< Where its bytes begin in the archive.
  std::uint64_t size = 0;  ///< How many bytes of the archive it has.
  std::uint32_t crc32 = 0;
  bool is_compressed = false;  ///< True: its bytes cannot be read here, and `crc32` is not of them.
};

/// Reads the bytes of a file from `offset` on into `to`. On failure returns false and sets `error`.
using ReadAt = std::function<bool(std::uint64_t offset, std::span<std::byte> to, Error& error)>;

/// Reads the list of files in a zip archive of `archive_bytes` bytes (APPNOTE 6.3, also zip64), sorted by name. Decides
/// only; `read` does the I/O. Memory: bounded by the archive's size, and at most 512 MiB.
///
/// An archive is refused if two readers could understand it differently: the two descriptions of an entry differ,
/// entries overlap, the numbers of zip64 contradict the others, the list does not end where the archive ends, a name
/// occurs twice.
///
/// On failure returns false; `error` says what, without the name of the file, and `entries` must not be used:
/// `bad_tensor_file`; `unsupported` (an entry is encrypted; several disks); or what `read` has set.
[[nodiscard]] DISTRIB_DECL auto read_zip_directory(std::uint64_t archive_bytes, const ReadAt& read,
                                                   std::vector<ZipEntry>& entries, Error& error) -> bool;

/// Lays out a zip archive of stored entries, each with its bytes at a multiple of 64. Sizes and checksums must be known
/// beforehand.
class ZipLayout {
 public:
  /// Adds an entry. Returns what is written before its bytes.
  [[nodiscard]] DISTRIB_DECL auto add(std::string name, std::uint64_t size, std::uint32_t crc32)
      -> std::vector<std::byte>;

  /// Returns what is written after the bytes of the last entry.
  [[nodiscard]] DISTRIB_DECL auto finish() const -> std::vector<std::byte>;

 private:
  struct Added {
    ZipEntry entry;
    std::uint64_t header_offset = 0;
  };

  std::vector<Added> added_;
  std::uint64_t size_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/zip_directory.ipp>
#endif
