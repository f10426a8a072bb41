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

/// True if the file system with this number (statfs(2)) keeps its files on another machine, or in another process.
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

/// True if `path` lies on such a file system; false if that is not known.
inline auto is_on_remote_file_system(const std::string& path) noexcept -> bool {
  struct ::statfs status{};
  return ::statfs(path.c_str(), &status) == 0 && is_remote_file_system(static_cast<std::uint32_t>(status.f_type));
}

}  // namespace detail

/// A regular file as read-only memory, from the page cache and without a copy. Movable; its bytes stay at the same
/// addresses.
///
/// Hazard: bytes are fetched when they are touched. If another process truncates the file meanwhile, or the disk fails,
/// the operating system ends the process with SIGBUS. Replace files by renaming, never in place; if that cannot be
/// guaranteed, read with `RecordReaderOptions::FileAccess::buffered`.
///
/// Threads: const access from any thread.
class MappedFile {
 public:
  /// Has no file and no bytes.
  MappedFile() = default;

  /// Maps `path`. Throws `std::system_error`: the system's reason, or `record_errc::not_regular`.
  explicit MappedFile(const std::string& path) {
    std::error_code ec;
    *this = MappedFile{path, ec};
    if (ec) throw_error(ec, path);
  }

  /// This overload sets `ec` on failure instead of throwing, and has no bytes.
  DISTRIB_DECL MappedFile(const std::string& path, std::error_code& ec) noexcept;

  MappedFile(MappedFile&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}
  auto operator=(MappedFile&& other) noexcept -> MappedFile& {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// Returns the whole file, with the size that it had when it was mapped. The bytes are valid as long as the mapping
  /// exists.
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return bytes_; }

 private:
  ByteView bytes_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/mapped_file.ipp>
#endif
