// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace tools {

/// Owns an open file, pipe end or socket of the operating system. Movable. Without one its number is -1.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_{fd} {}
  Descriptor(Descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  auto operator=(Descriptor&& other) noexcept -> Descriptor& {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] auto get() const noexcept -> int { return fd_; }
  [[nodiscard]] auto is_open() const noexcept -> bool { return fd_ >= 0; }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace tools
