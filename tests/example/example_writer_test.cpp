// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/example_writer.hpp>

#include <distrib/example.pb.h>

#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::ExampleWriter;
using distrib::feature;
using distrib::schema;

namespace {

struct Picture {
  std::span<const std::byte> image;
  std::int64_t label = 0;
  std::array<float, 3> weights{};
};

struct Lists {
  std::span<const float> floats;
  std::span<const std::int64_t> ids;
  std::array<std::int64_t, 2> pair{};
  float scalar = 0;
  std::span<const std::byte> text;
};

constexpr auto pictures = schema<Picture>(feature("weights", &Picture::weights), feature("image", &Picture::image),
                                          feature("label", &Picture::label));

}  // namespace

TEST_CASE("ExampleWriter: writes the bytes that TensorFlow writes", "[example]") {
  std::ifstream file{support::test_dir() + "/example/fixtures/example.tfrecord", std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  REQUIRE(bytes.size() == 1561);
  const std::string first = bytes.substr(12, 323);  // payload of the first record

  std::vector<std::byte> image(256);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i);
  ExampleWriter writer{pictures};
  CHECK(distrib::as_text(writer.write({image, 7, {0.5F, -1.25F, 3.0F}})) == first);
}

TEST_CASE("ExampleWriter: protobuf reads the same values", "[example]") {
  const auto lists =
      schema<Lists>(feature("floats", &Lists::floats), feature("ids", &Lists::ids), feature("pair", &Lists::pair),
                    feature("scalar", &Lists::scalar), feature("text", &Lists::text));
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  const std::vector<float> floats{0.0F, -0.0F, std::numeric_limits<float>::infinity(), 1e-38F};
  const std::vector<std::int64_t> ids{0, 1, -1, 127, 128, lowest, highest};
  const std::vector<std::byte> text(300, std::byte{'x'});

  ExampleWriter writer{lists};
  distrib::proto::Example example;
  const ByteView bytes = writer.write({floats, ids, {-5, 6}, 2.5F, text});
  REQUIRE(example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  const auto& features = example.features().feature();
  REQUIRE(features.size() == 5);
  const auto& read_floats = features.at("floats").float_list().value();
  REQUIRE(read_floats.size() == 4);
  CHECK(std::memcmp(read_floats.data(), floats.data(), 16) == 0);
  const auto& read_ids = features.at("ids").int64_list().value();
  CHECK(std::vector<std::int64_t>{read_ids.begin(), read_ids.end()} == ids);
  CHECK(features.at("pair").int64_list().value(0) == -5);
  CHECK(features.at("pair").int64_list().value(1) == 6);
  CHECK(features.at("scalar").float_list().value(0) == 2.5F);
  CHECK(features.at("text").bytes_list().value(0) == std::string(300, 'x'));
}

TEST_CASE("ExampleWriter: numbers of every length with names of every length", "[example]") {
  struct Numbers {
    std::int64_t a = 0, b = 0, c = 0, d = 0, e = 0;
    float f = 0;
  };
  constexpr auto numbers = schema<Numbers>(
      feature("", &Numbers::a), feature("sixteen letters.", &Numbers::b), feature("seventeen letters", &Numbers::c),
      feature("thirty-two letters are in it: 32", &Numbers::d),
      feature("and one more are in here, thus 33", &Numbers::e), feature("weight", &Numbers::f));
  ExampleWriter writer{numbers};
  distrib::proto::Example example;
  for (unsigned bits = 0; bits <= 64; ++bits)
    for (const std::uint64_t value :
         {bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1, std::uint64_t{1} << bits % 64,
          std::uint64_t{0x5a5a'5a5a'5a5a'5a5a} >> bits % 64}) {
      CAPTURE(value);
      const auto number = static_cast<std::int64_t>(value);
      const auto rest = static_cast<std::int64_t>(~value);
      const ByteView bytes = writer.write({number, number, rest, number, number, 0.25F});
      REQUIRE(example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
      CHECK(example.ByteSizeLong() == bytes.size());
      const auto& features = example.features().feature();
      REQUIRE(features.size() == 6);
      CHECK(features.at("").int64_list().value(0) == number);
      CHECK(features.at("sixteen letters.").int64_list().value(0) == number);
      CHECK(features.at("seventeen letters").int64_list().value(0) == rest);
      CHECK(features.at("thirty-two letters are in it: 32").int64_list().value(0) == number);
      CHECK(features.at("and one more are in here, thus 33").int64_list().value(0) == number);
      CHECK(features.at("weight").float_list().value(0) == 0.25F);
    }
}

TEST_CASE("ExampleWriter: empty lists have a kind, and empty bytes are a value", "[example]") {
  const auto lists =
      schema<Lists>(feature("floats", &Lists::floats), feature("ids", &Lists::ids), feature("text", &Lists::text));
  ExampleWriter writer{lists};
  distrib::proto::Example example;
  const ByteView bytes = writer.write({});
  REQUIRE(example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  const auto& features = example.features().feature();
  CHECK(features.at("floats").has_float_list());
  CHECK(features.at("floats").float_list().value_size() == 0);
  CHECK(features.at("ids").has_int64_list());
  REQUIRE(features.at("text").bytes_list().value_size() == 1);
  CHECK(features.at("text").bytes_list().value(0).empty());
}

TEST_CASE("ExampleWriter: the order of the schema does not matter, and memory is reused", "[example]") {
  ExampleWriter writer{pictures};
  ExampleWriter other{schema<Picture>(feature("label", &Picture::label), feature("weights", &Picture::weights),
                                      feature("image", &Picture::image))};
  const std::vector<std::byte> image(100);
  const ByteView first = writer.write({image, 1, {}});
  const ByteView second = other.write({image, 1, {}});
  CHECK(std::vector<std::byte>{first.begin(), first.end()} == std::vector<std::byte>{second.begin(), second.end()});
  const std::byte* memory = first.data();
  CHECK(writer.write({std::span{image}.first(90), 1, {}}).data() == memory);
}
