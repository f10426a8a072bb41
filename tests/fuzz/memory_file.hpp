// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expect.hpp"

#include <distrib/core/bytes.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace fuzz {

/// A file with these bytes that is on no disk; `path()` is a name under which it can be opened.
class MemoryFile {
 public:
  explicit MemoryFile(distrib::ByteView bytes) : file_{::memfd_create("records", MFD_CLOEXEC)} {
    expect(file_ >= 0, "a file in memory can be made");
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(file_, bytes.data(), bytes.size());
      expect(written > 0, "the file in memory can be written");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(file_); }

  [[nodiscard]] auto path() const -> std::string { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace fuzz
