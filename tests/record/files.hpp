// SPDX-License-Identifier: Apache-2.0
// What the tests of this room share: files as bytes, and records framed in memory.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/frame.hpp>

#include "support/test_dir.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace support {

inline auto fixture(const std::string& name) -> std::filesystem::path {
  return std::filesystem::path{test_dir()} / "record" / "fixtures" / name;
}

inline auto read_file(const std::filesystem::path& path) -> std::string {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Returns a record as it stands in a file.
inline auto framed(std::string_view payload) -> std::string {
  const auto header = distrib::encode_record_header(payload.size());
  const auto footer = distrib::encode_record_footer(distrib::as_bytes(payload));
  return std::string{distrib::as_text(header)} + std::string{payload} + std::string{distrib::as_text(footer)};
}

/// Returns a valid header that announces `payload_bytes`.
inline auto header_of(std::uint64_t payload_bytes) -> std::string {
  return std::string{distrib::as_text(distrib::encode_record_header(payload_bytes))};
}

/// Returns `size` bytes that zlib cannot shrink.
inline auto noise(std::size_t size) -> std::string {
  std::string text(size, '\0');
  std::uint32_t word = 1;
  for (char& c : text) c = static_cast<char>((word = word * 1664525 + 1013904223) >> 24);
  return text;
}

}  // namespace support
