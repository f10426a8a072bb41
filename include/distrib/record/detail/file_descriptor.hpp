// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace distrib::inline v0::detail {

inline auto last_os_error() noexcept -> std::error_code { return {errno, std::generic_category()}; }

/// Owns an open file of the operating system. Movable. One thread at a time.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  /// Opens `path` with the flags of open(2). On failure `is_open()` is false and `ec` says why.
  FileDescriptor(const std::filesystem::path& path, int flags, std::error_code& ec) noexcept {
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

  /// Reads up to `to.size()` bytes; 0 at the end and on failure.
  auto read(std::span<std::byte> to, std::error_code& ec) noexcept -> std::size_t {
    ssize_t count = 0;
    do {
      count = ::read(fd_, to.data(), to.size());
    } while (count < 0 && errno == EINTR);
    ec = count < 0 ? last_os_error() : std::error_code{};
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  /// Writes all `pieces`, which it uses up.
  void write(std::span<iovec> pieces, std::error_code& ec) noexcept {
    ec.clear();
    while (true) {
      while (!pieces.empty() && pieces.front().iov_len == 0) pieces = pieces.subspan(1);
      if (pieces.empty()) return;
      const ssize_t count = ::writev(fd_, pieces.data(), static_cast<int>(pieces.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        ec = last_os_error();
        return;
      }
      auto written = static_cast<std::size_t>(count);
      for (iovec& piece : pieces) {
        const std::size_t part = written < piece.iov_len ? written : piece.iov_len;
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
        piece.iov_len -= part;
        written -= part;
      }
    }
  }

  /// Closes, and reports what a file system held back until now.
  void close(std::error_code& ec) noexcept {
    ec = ::close(std::exchange(fd_, -1)) == 0 ? std::error_code{} : last_os_error();
  }

 private:
  int fd_ = -1;
};

}  // namespace distrib::inline v0::detail
