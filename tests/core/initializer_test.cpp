// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/initializer.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <vector>

using distrib::ConstantInitializer;
using distrib::GlorotUniformInitializer;
using distrib::Initializer;
using distrib::Shape;
using distrib::Slice;
using distrib::UniformInitializer;
using distrib::ZerosInitializer;

static_assert(std::regular<Initializer>);

namespace {

constexpr std::uint64_t fixed_seed = 20160411;

auto filled(const Initializer& initializer, std::string_view name, const Shape& whole, const Slice& part)
    -> std::vector<float> {
  std::vector<float> values(static_cast<std::size_t>(part.extents.elements()), -7.0F);
  distrib::detail::fill(initializer, fixed_seed, name, whole, part, values);
  return values;
}

auto filled(const Initializer& initializer, std::string_view name, const Shape& whole) -> std::vector<float> {
  return filled(initializer, name, whole, Slice::whole(whole));
}

/// FNV-1a over the bits of the values: a number to recognize them by.
auto fingerprint(const std::vector<float>& values) -> std::uint64_t {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return distrib::detail::name_hash(bytes);
}

}  // namespace

TEST_CASE("Initializer: converts from each choice, compares by value, describes itself in one line", "[initializer]") {
  struct Row {
    Initializer initializer;
    std::string text;
  };
  const Row rows[] = {
      {{}, "zeros"},
      {ZerosInitializer{}, "zeros"},
      {ConstantInitializer{.value = 0.1F}, "constant value=0.1"},
      {ConstantInitializer{.value = 1e-8F}, "constant value=1e-08"},
      {UniformInitializer{}, "uniform low=-0.05 high=0.05"},
      {UniformInitializer{.low = 0.0F, .high = 16777216.0F}, "uniform low=0 high=16777216"},
      {GlorotUniformInitializer{}, "glorot_uniform"},
  };
  for (const Row& row : rows) {
    CHECK(row.initializer.describe() == row.text);
    for (const Row& other : rows) CHECK((row.initializer == other.initializer) == (row.text == other.text));
  }
}

TEST_CASE("fill: zeros and constants", "[initializer]") {
  CHECK(filled(distrib::CustomInitializer{}, "w", {2}) == std::vector<float>{0, 0});  // its values come from the model
  CHECK(Initializer{distrib::CustomInitializer{}}.is_custom());
  CHECK_FALSE(Initializer{}.is_custom());
  CHECK(filled(ZerosInitializer{}, "v", {3}) == std::vector<float>(3, 0.0F));
  CHECK(filled(ConstantInitializer{0.25F}, "v", {2, 2}) == std::vector<float>(4, 0.25F));
  CHECK(filled(ConstantInitializer{0.25F}, "v", {}) == std::vector<float>(1, 0.25F));
  CHECK(filled(UniformInitializer{}, "v", {0, 4}).empty());
}

TEST_CASE("fill: element i is a pure function of seed, name and i", "[initializer]") {
  const UniformInitializer uniform{.low = -2.0F, .high = 3.0F};
  const std::vector<float> values = filled(uniform, "hidden/weights", {7});
  const std::uint64_t hash = distrib::detail::name_hash("hidden/weights");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto block = distrib::philox(distrib::philox_key(fixed_seed),
                                       {static_cast<std::uint32_t>(i / 4), 0, static_cast<std::uint32_t>(hash),
                                        static_cast<std::uint32_t>(hash >> 32)});
    CHECK(values[i] == static_cast<float>(-2.0 + 5.0 * static_cast<double>(distrib::uniform01(block[i % 4]))));
  }
  CHECK(filled(uniform, "hidden/weights", {7, 1}) == values);
  CHECK(filled(uniform, "hidden/weight", {7}) != values);
  std::vector<float> other(7);
  distrib::detail::fill(uniform, fixed_seed + 1, "hidden/weights", {7}, Slice::whole({7}), other);
  CHECK(other != values);
}

TEST_CASE("name_hash: FNV-1a, 64 bits", "[initializer]") {
  CHECK(distrib::detail::name_hash("") == 0xcbf29ce484222325);
  CHECK(distrib::detail::name_hash("a") == 0xaf63dc4c8601ec8c);
  CHECK(distrib::detail::name_hash("foobar") == 0x85944171f73967e8);
}

TEST_CASE("fill: parts have the same bits as the whole", "[initializer]") {
  const Shape whole{5, 6, 7};
  for (const Initializer& initializer : {Initializer{UniformInitializer{}}, Initializer{GlorotUniformInitializer{}}}) {
    const std::vector<float> expected = filled(initializer, "conv", whole);
    for (std::size_t axis = 0; axis < whole.rank(); ++axis)
      for (std::int64_t rows = 1; rows <= whole[axis]; ++rows) {
        std::vector<float> joined(expected.size(), -7.0F);
        for (std::int64_t first = 0; first < whole[axis]; first += rows) {
          const Slice part = Slice::along(whole, axis, first, std::min(rows, whole[axis] - first));
          const std::vector<float> values = filled(initializer, "conv", whole, part);
          distrib::detail::copy_overlap(part, std::as_bytes(std::span{values}).data(), Slice::whole(whole),
                                        std::as_writable_bytes(std::span{joined}).data(), sizeof(float));
        }
        CAPTURE(axis, rows);
        CHECK(std::memcmp(joined.data(), expected.data(), expected.size() * sizeof(float)) == 0);
      }
    const Slice box{{1, 2, 3}, {3, 2, 4}};
    const std::vector<float> values = filled(initializer, "conv", whole, box);
    std::vector<float> cut(values.size());
    distrib::detail::copy_overlap(Slice::whole(whole), std::as_bytes(std::span{expected}).data(), box,
                                  std::as_writable_bytes(std::span{cut}).data(), sizeof(float));
    CHECK(values == cut);
  }
}

TEST_CASE("GlorotUniformInitializer: uses TensorFlow's fans", "[initializer]") {
  struct Row {
    Shape shape;
    double fan_in;
    double fan_out;
  };
  const Row rows[] = {
      {{}, 1, 1}, {{10}, 10, 10}, {{784, 128}, 784, 128}, {{5, 3, 4}, 15, 20}, {{3, 3, 16, 32}, 144, 288},
  };
  for (const Row& row : rows) {
    const auto limit = static_cast<float>(std::sqrt(6.0 / (row.fan_in + row.fan_out)));
    CAPTURE(to_string(row.shape));
    CHECK(distrib::detail::glorot_range(row.shape) == UniformInitializer{-limit, limit});
    CHECK(filled(GlorotUniformInitializer{}, "v", row.shape) ==
          filled(UniformInitializer{-limit, limit}, "v", row.shape));
  }
  CHECK(distrib::detail::glorot_range({0, 1}).high == static_cast<float>(std::sqrt(3.0)));  // no fan below 1
}

TEST_CASE("fill: values are within the bounds, and their mean is in the middle", "[initializer]") {
  const std::vector<float> values = filled(UniformInitializer{.low = 1.0F, .high = 2.0F}, "v", {100, 100});
  double sum = 0;
  for (const float value : values) {
    REQUIRE((value >= 1.0F && value <= 2.0F));
    sum += static_cast<double>(value);
  }
  CHECK(sum / 10'000 == Approx(1.5).margin(0.01));
}

// These values must never change: checkpoints that are made again from a seed depend on them, and so do jobs that
// continue with a newer version.
TEST_CASE("fill: the same numbers in every version", "[initializer]") {
  const std::vector<float> uniform = filled(UniformInitializer{}, "hidden/weights", {784, 128});
  const std::vector<float> glorot = filled(GlorotUniformInitializer{}, "hidden/weights", {784, 128});
  CHECK(std::bit_cast<std::uint32_t>(glorot[0]) == 0xbd85ca84);
  CHECK(std::bit_cast<std::uint32_t>(glorot[100'351]) == 0xbd1fa906);
  CHECK(fingerprint(uniform) == 0x1359bb2503428355);
  CHECK(fingerprint(glorot) == 0xa9aefdbbcb0bd5ce);
}

TEST_CASE("parse_initializer: the inverse of describe()", "[initializer]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  const Initializer list[] = {{},
                              ConstantInitializer{0.1F},
                              ConstantInitializer{-0.0F},
                              ConstantInitializer{-infinity},
                              UniformInitializer{},
                              UniformInitializer{-largest, largest},
                              UniformInitializer{1e-45F, 1e-45F},
                              GlorotUniformInitializer{},
                              distrib::CustomInitializer{},
                              distrib::CustomInitializer{distrib::sha256(distrib::as_bytes(std::string_view{"x"}))}};
  for (const Initializer& initializer : list) {
    CAPTURE(initializer.describe());
    CHECK(distrib::detail::parse_initializer(initializer.describe()) == initializer);
  }
  const auto nan = distrib::detail::parse_initializer("constant value=nan");
  REQUIRE(nan);
  CHECK(nan->describe() == "constant value=nan");
}

TEST_CASE("parse_initializer: refuses every other text", "[initializer]") {
  for (const char* text : {"",
                           "zero",
                           "zeros ",
                           " zeros",
                           "Zeros",
                           "glorot_uniform low=1",
                           "constant",
                           "constant value=",
                           "constant 0.1",
                           "constant value=0.10",
                           "constant value=.1",
                           "constant value=1e999",
                           "constant value=0x1",
                           "constant value=1 ",
                           "constant  value=1",
                           "constant value=1 value=1",
                           "constant value=infinity",
                           "uniform",
                           "uniform low=0",
                           "uniform high=1 low=0",
                           "uniform low=0 high=",
                           "uniform low=0  high=1",
                           "uniform low=0 high=1 ",
                           "uniform low=1 high=0",
                           "uniform low=-inf high=0",
                           "uniform low=0 high=inf",
                           "uniform low=nan high=nan",
                           "custom",
                           "custom sha256=",
                           "custom sha256=00",
                           "uniform low=0 high=nan",
                           "uniform low=0=0 high=1",
                           "normal mean=0"}) {
    CAPTURE(text);
    CHECK_FALSE(distrib::detail::parse_initializer(text));
  }
}
