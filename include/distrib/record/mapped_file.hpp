// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Whether the file system with this number (statfs(2)) has its files on another machine, or in another process.
constexpr auto is_remote_file_system(std::uint32_t number) noexcept -> bool {
  constexpr std::uint32_t remote[] = {
      0x6969,     0x517B,     0xFE534D42, 0xFF534D42,  // NFS, SMB, SMB2, CIFS
      0x65735546, 0x01021997, 0x00C36400, 0x0BD00BD0,  // FUSE, 9P, Ceph, Lustre
      0x47504653, 0x19830326, 0x5346414F, 0x73757245,  // GPFS, BeeGFS, AFS, Coda
  };
  for (const std::uint32_t known : remote)
    if (number == known) return true;
  return false;
}

/// Whether `path` lies on such a file system; false where that cannot be told.
inline auto is_on_remote_file_system(const std::string& path) noexcept -> bool {
  struct ::statfs status{};
  return ::statfs(path.c_str(), &status) == 0 && is_remote_file_system(static_cast<std::uint32_t>(status.f_type));
}

}  // namespace detail

/// A regular file as read-only memory, taken from the page cache without a copy. Movable; a moved one keeps its
/// addresses. Const access from any thread.
///
/// Hazard: bytes are fetched when they are touched. If somebody cuts the file meanwhile, or the disk fails, the
/// operating system ends the process with SIGBUS. Replace files by renaming, never in place; where that cannot be
/// kept, read with `RecordReaderOptions::FileAccess::buffered`.
class MappedFile {
 public:
  /// No file, no bytes.
  MappedFile() = default;

  /// Maps `path`. Throws `std::system_error`: what the system says, or `record_errc::not_regular`.
  explicit MappedFile(const std::string& path) {
    std::error_code ec;
    *this = MappedFile{path, ec};
    if (ec) throw_error(ec, path);
  }

  /// The same; on failure `ec` is set and there are no bytes.
  DISTRIB_DECL MappedFile(const std::string& path, std::error_code& ec) noexcept;

  MappedFile(MappedFile&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}
  auto operator=(MappedFile&& other) noexcept -> MappedFile& {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// The whole file as it was when mapped. Lives as long as the mapping.
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }

 private:
  ByteView bytes_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/mapped_file.ipp>
#endif
