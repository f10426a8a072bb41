// SPDX-License-Identifier: Apache-2.0
// A file whose second record is longer than 2 GiB: zeros that use neither memory nor disk.
#pragma once

#include <distrib/core/bytes.hpp>

#include "record/files.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace support {

/// Bytes of the second record.
inline constexpr std::uint64_t large_record_bytes = (std::uint64_t{1} << 31) + 10;

/// Returns what stands before its payload: a record of 5 bytes, and the header.
inline auto before_large_record() -> std::string { return framed("first") + header_of(large_record_bytes); }

/// Returns what stands after its payload: the checksum of these zeros, and a record of 4 bytes.
inline auto behind_large_record() -> std::string { return std::string{"\x7b\x40\x74\x10"} + framed("last"); }

/// Writes the file, with a hole.
inline void write_large_file(const std::filesystem::path& path) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file << before_large_record();
  file.seekp(static_cast<std::streamoff>(large_record_bytes), std::ios::cur);
  file << behind_large_record();
}

/// The file in memory. All pages that were not written to are the same page of zeros.
class LargeFile {
 public:
  LargeFile()
      : size_{before_large_record().size() + large_record_bytes + behind_large_record().size()},
        memory_{::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {
    if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    ::madvise(memory_, size_, MADV_HUGEPAGE);  // if the system allows it, this saves half a million page faults
    put(0, before_large_record());
    put(size_ - behind_large_record().size(), behind_large_record());
  }
  LargeFile(const LargeFile&) = delete;
  ~LargeFile() { ::munmap(memory_, size_); }

  [[nodiscard]] auto bytes() const -> distrib::ByteView { return {static_cast<const std::byte*>(memory_), size_}; }

 private:
  void put(std::size_t at, std::string_view bytes) const {
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(memory_) + at);
  }

  std::size_t size_;
  void* memory_;
};

}  // namespace support
