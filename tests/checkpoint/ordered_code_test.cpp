// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/ordered_code.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using distrib::to_hex;

namespace {
auto signed_code(std::int64_t value) -> std::string {
  std::string code;
  distrib::append_ordered_int64(code, value);
  return code;
}
}  // namespace

TEST_CASE("append_ordered_int64 appends TensorFlow's bytes", "[checkpoint][ordered_code]") {
  const struct {
    std::int64_t value;
    const char* hex;
  } cases[] = {
      {0, "80"},
      {4, "84"},
      {-1, "7f"},
      {63, "bf"},
      {64, "c040"},
      {-64, "40"},
      {-65, "3fbf"},
      {8191, "dfff"},
      {8192, "e02000"},
      {std::numeric_limits<std::int64_t>::max(), "ffc07fffffffffffffff"},
      {std::numeric_limits<std::int64_t>::min(), "003f8000000000000000"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.value);
    CHECK(to_hex(distrib::as_bytes(signed_code(c.value))) == c.hex);
  }
}

TEST_CASE("codes have the order of their values", "[checkpoint][ordered_code]") {
  std::vector<std::int64_t> values;
  for (int shift = 62; shift >= 0; --shift)
    for (const std::int64_t near : {1, 0, -1}) values.push_back(-(std::int64_t{1} << shift) - near);
  for (int shift = 0; shift <= 62; ++shift)
    for (const std::int64_t near : {-1, 0, 1}) values.push_back((std::int64_t{1} << shift) + near);
  for (const std::int64_t a : values)
    for (const std::int64_t b : values) REQUIRE((signed_code(a) < signed_code(b)) == (a < b));
}

TEST_CASE("append_ordered_uint64 and append_ordered_text append TensorFlow's bytes", "[checkpoint][ordered_code]") {
  std::string code;
  distrib::append_ordered_uint64(code, 0);
  distrib::append_ordered_uint64(code, 2);
  distrib::append_ordered_uint64(code, 0x1234);
  distrib::append_ordered_uint64(code, std::numeric_limits<std::uint64_t>::max());
  CHECK(to_hex(distrib::as_bytes(code)) ==
        "00"
        "0102"
        "021234"
        "08ffffffffffffffff");
  code.clear();
  distrib::append_ordered_text(code, std::string_view{"a\0\xff"
                                                      "b",
                                                      4});
  CHECK(to_hex(distrib::as_bytes(code)) ==
        "61"
        "00ff"
        "ff00"
        "62"
        "0001");
}

TEST_CASE("slice_key returns the key that TensorFlow wrote", "[checkpoint][ordered_code]") {
  const distrib::Slice slice{{4, 0}, {3, 4}};
  CHECK(to_hex(distrib::as_bytes(distrib::slice_key("emb/table", slice))) ==
        "00"
        "656d622f7461626c65"
        "0001"
        "0102"
        "8483"
        "8084");
  const std::int64_t starts[] = {0};
  const std::int64_t lengths[] = {distrib::whole_axis};
  CHECK(to_hex(distrib::as_bytes(distrib::slice_key("v", starts, lengths))) ==
        "00"
        "760001"
        "0101"
        "807f");
}
