// SPDX-License-Identifier: Apache-2.0
// Small data sets of numbered records.
#pragma once

#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace files {

struct Item {
  std::int64_t number = 0;
  std::span<const std::byte> image;
};

inline constexpr auto items =
    distrib::schema<Item>(distrib::feature("number", &Item::number), distrib::feature("image", &Item::image));

/// Writes records first .. end-1, each with an image of ten times its number.
inline void write_items(const std::filesystem::path& path, std::int64_t first, std::int64_t end,
                        distrib::Compression compression = distrib::Compression::none) {
  distrib::RecordWriter file{path, {.compression = compression}};
  distrib::ExampleWriter writer{items};
  for (std::int64_t number = first; number < end; ++number) {
    const std::vector<std::byte> image(10, static_cast<std::byte>(number));
    file.append(writer.write({number, image}));
  }
  file.close();
}

/// Changes one byte of a file.
inline void damage(const std::filesystem::path& path, std::uintmax_t offset) {
  std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

}  // namespace files
