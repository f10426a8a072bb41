// SPDX-License-Identifier: Apache-2.0
// TFRecord files of random records, in memory. Everything is a pure function of the seed.
#pragma once

#include <distrib/core/bytes.hpp>

#include "record/files.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace support {

/// A file, where each of its records begins, and where the last one ends.
struct RandomFile {
  std::string bytes;
  std::vector<std::uint64_t> offsets{0};

  void add(std::string_view payload) {
    bytes += framed(payload);
    offsets.push_back(bytes.size());
  }
  [[nodiscard]] auto view() const -> distrib::ByteView { return distrib::as_bytes(bytes); }
  [[nodiscard]] auto records() const -> std::size_t { return offsets.size() - 1; }
  /// Returns where the first record at or after `offset` begins; the size of the file if there is none.
  [[nodiscard]] auto first_from(std::uint64_t offset) const -> std::uint64_t {
    for (const std::uint64_t start : offsets)
      if (start >= offset) return start;
    return bytes.size();
  }
};

/// Returns a file with payloads of 0 .. `longest` bytes; about half of them are small numbers, which look like lengths.
inline auto ordinary_file(std::uint32_t seed, std::size_t records, std::size_t longest) -> RandomFile {
  std::mt19937 random{seed};
  RandomFile file;
  for (std::size_t i = 0; i < records; ++i) {
    std::string payload(random() % (longest + 1), '\0');
    const bool numbers = random() % 2 == 0;
    for (std::size_t at = 0; at < payload.size(); ++at)
      if (!numbers || at % 8 < 2) payload[at] = static_cast<char>(random());
    file.add(payload);
  }
  return file;
}

/// Returns a file in which 60 % of the records hold TFRecord files of 30 records.
inline auto nested_file(std::uint32_t seed, std::size_t records) -> RandomFile {
  std::mt19937 random{seed};
  RandomFile file;
  for (std::size_t i = 0; i < records; ++i) {
    const auto inner_seed = static_cast<std::uint32_t>(random());
    if (random() % 10 < 6) file.add(ordinary_file(inner_seed, 30, 60).bytes);
    else file.add(std::string(random() % 400, 'x'));
  }
  return file;
}

}  // namespace support
