// SPDX-License-Identifier: Apache-2.0
// Data that several tests of libtorch/ train with: points and a number, in a batch or in a file.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/record/record_writer.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace support {

struct Point {
  std::array<float, 4> x;
  float y;
  std::int64_t user;
};
inline constexpr auto point_x = distrib::feature("x", &Point::x);
inline constexpr auto point_y = distrib::feature("y", &Point::y);
inline constexpr auto point_user = distrib::feature("user", &Point::user);

[[nodiscard]] inline auto point_at(std::size_t i) -> Point {
  const auto t = static_cast<float>(i);
  return {
      {std::sin(t), std::cos(t), std::sin(2 * t), 1}, std::sin(t) + std::cos(t) / 2, static_cast<std::int64_t>(i % 7)};
}

// Points `first`, `first` + 1, ...
struct PointBatch {
  explicit PointBatch(std::size_t count, std::size_t first = 0) {
    const auto schema = distrib::schema<Point>(point_x, point_y, point_user);
    distrib::ExampleWriter writer{schema};
    std::vector<std::vector<std::byte>> records;
    for (std::size_t i = first; i < first + count; ++i) {
      const distrib::ByteView written = writer.write(point_at(i));
      records.emplace_back(written.begin(), written.end());
    }
    const std::vector<distrib::ByteView> views(records.begin(), records.end());
    distrib::parse_examples(schema, views, batch);
  }
  distrib::Batch<Point> batch;
};

inline void write_points(const std::filesystem::path& file, std::size_t count) {
  distrib::ExampleWriter example{distrib::schema<Point>(point_x, point_y, point_user)};
  distrib::RecordWriter writer{file.string()};
  for (std::size_t i = 0; i < count; ++i) writer.append(example.write(point_at(i)));
  writer.close();
}

}  // namespace support
