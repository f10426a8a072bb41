// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns errno as an error code.
inline auto last_os_error() noexcept -> std::error_code { return {errno, std::generic_category()}; }

/// Owns an open file of the operating system. Movable; an assignment exchanges the two files.
///
/// Threads: one at a time.
class FileDescriptor {
 public:
  /// Has no file: `is_open()` is false.
  FileDescriptor() = default;

  /// Opens `path` with the flags of open(2); close-on-exec is added, new files get mode 0666 less the umask. On failure
  /// sets `ec`, and `is_open()` is false.
  FileDescriptor(const std::string& path, int flags, std::error_code& ec) noexcept {
    do {
      fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EINTR);
    ec = fd_ < 0 ? last_os_error() : std::error_code{};
  }

  FileDescriptor(FileDescriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  auto operator=(FileDescriptor&& other) noexcept -> FileDescriptor& {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] auto is_open() const noexcept -> bool { return fd_ >= 0; }
  [[nodiscard]] auto get() const noexcept -> int { return fd_; }

  /// Reads up to `to.size()` bytes and returns their number; 0 at the end of the file and on failure. On failure sets
  /// `ec`.
  DISTRIB_DECL auto read(std::span<std::byte> to, std::error_code& ec) noexcept -> std::size_t;

  /// Writes all bytes of the `count` pieces, in order. Changes the pieces. On failure sets `ec`; some bytes may then be
  /// written.
  DISTRIB_DECL void write(iovec* pieces, std::size_t count, std::error_code& ec) noexcept;

  /// Writes all of `bytes`. On failure sets `ec`; some bytes may then be written.
  void write(std::span<const std::byte> bytes, std::error_code& ec) noexcept {
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};  // the cast is safe: writev only reads them
    write(&piece, 1, ec);
  }

  /// Closes the file, also on failure. Sets `ec` if the file system reports only now that an earlier write failed.
  void close(std::error_code& ec) noexcept {
    ec = ::close(std::exchange(fd_, -1)) == 0 ? std::error_code{} : last_os_error();
  }

 private:
  int fd_ = -1;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/file_descriptor.ipp>
#endif
