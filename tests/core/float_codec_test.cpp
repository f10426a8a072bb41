// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/float_codec.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

using distrib::decode_elements;
using distrib::element_bytes;
using distrib::encode_elements;
using distrib::FloatFormat;

TEST_CASE("element_bytes: size of an element of each format", "[core]") {
  CHECK(element_bytes(FloatFormat::float32) == 4);
  CHECK(element_bytes(FloatFormat::bfloat16) == 2);
  CHECK(element_bytes(FloatFormat::float16) == 2);
}

TEST_CASE("encode_elements, decode_elements: round as the format says and write nothing beside the elements",
          "[core]") {
  struct Case {
    FloatFormat format;
    std::array<float, 5> after;
  };
  const std::array<float, 5> before{1.0F, -0.1F, 1.0009765625F, 1e5F, 1.0F / 1024 / 1024 / 16};
  const Case cases[] = {
      {FloatFormat::float32, before},
      {FloatFormat::bfloat16, {1.0F, -0.10009765625F, 1.0F, 99840.0F, 1.0F / 1024 / 1024 / 16}},
      {FloatFormat::float16,
       {1.0F, -0.0999755859375F, 1.0009765625F, std::numeric_limits<float>::infinity(), 1.0F / 1024 / 1024 / 16}},
  };
  for (const Case& c : cases) {
    CAPTURE(to_text(c.format));
    alignas(float) std::array<std::byte, 32> bytes{};
    bytes.fill(std::byte{0xAA});
    encode_elements(c.format, before, bytes.data());
    for (std::size_t i = before.size() * element_bytes(c.format); i < bytes.size(); ++i)
      CHECK(bytes[i] == std::byte{0xAA});
    std::array<float, 6> after{};
    after[5] = 7;
    decode_elements(c.format, bytes.data(), std::span{after}.first(5));
    CHECK(std::memcmp(after.data(), c.after.data(), sizeof c.after) == 0);
    CHECK(after[5] == 7);
    encode_elements(c.format, {}, nullptr);
    decode_elements(c.format, nullptr, {});
  }
}
