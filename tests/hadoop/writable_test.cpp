// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/writable.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>

using distrib::as_bytes;
using distrib::hadoop_errc;
using distrib::hadoop::Bytes;
using distrib::hadoop::WritableReader;

namespace {

auto vint(std::int64_t number) -> std::string {
  Bytes bytes;
  distrib::hadoop::detail::append_vint(bytes, number);
  return distrib::to_hex(bytes);
}

}  // namespace

TEST_CASE("writable: numbers as WritableUtils writes them", "[hadoop][writable]") {
  CHECK(vint(0) == "00");
  CHECK(vint(127) == "7f");
  CHECK(vint(-112) == "90");
  CHECK(vint(128) == "8f80");
  CHECK(vint(-113) == "8770");
  CHECK(vint(255) == "8fff");
  CHECK(vint(256) == "8e0100");
  CHECK(vint(-256) == "87ff");
  CHECK(vint(-257) == "860100");
  CHECK(vint(std::numeric_limits<std::int32_t>::max()) == "8c7fffffff");
  CHECK(vint(std::numeric_limits<std::int32_t>::min()) == "847fffffff");
  CHECK(vint(std::numeric_limits<std::int64_t>::max()) == "887fffffffffffffff");
  CHECK(vint(std::numeric_limits<std::int64_t>::min()) == "807fffffffffffffff");
}

TEST_CASE("writable: reads what was written", "[hadoop][writable]") {
  Bytes bytes;
  std::vector<std::int64_t> numbers;
  for (int bit = 0; bit < 63; ++bit)
    for (const std::int64_t near : {-1, 0, 1}) {
      numbers.push_back((std::int64_t{1} << bit) + near);
      numbers.push_back(-numbers.back());
    }
  numbers.push_back(std::numeric_limits<std::int64_t>::min());
  for (const std::int64_t number : numbers) distrib::hadoop::detail::append_vint(bytes, number);
  distrib::hadoop::detail::append_bytes(bytes, as_bytes("naïve"));
  distrib::hadoop::detail::append_float(bytes, 0.25F);
  distrib::hadoop::detail::append_big_endian(bytes, std::int64_t{-2});
  distrib::hadoop::detail::append_big_endian(bytes, std::uint32_t{3});
  distrib::hadoop::detail::append_raw(bytes, as_bytes("abc"));
  WritableReader reader{bytes};
  for (const std::int64_t number : numbers) CHECK(reader.vlong() == number);
  CHECK(reader.text(6) == "naïve");
  CHECK(reader.real() == 0.25F);
  CHECK(reader.big_endian<std::int64_t>() == -2);
  CHECK(distrib::as_text(reader.long_bytes(3)) == "abc");
  CHECK(!reader.error());
  CHECK(reader.used() == bytes.size());
}

TEST_CASE("writable: wrong lengths and early ends are permanent failures", "[hadoop][writable]") {
  const auto read = [](std::initializer_list<int> list, auto&& use) {
    Bytes bytes;
    for (const int byte : list) bytes.push_back(static_cast<std::byte>(byte));
    WritableReader reader{bytes};
    use(reader);
    return std::pair{reader.error(), reader.wanted()};
  };
  const auto bytes = [](WritableReader& reader) { CHECK(reader.bytes(100).empty()); };
  CHECK(read({}, bytes) == std::pair{make_error_code(hadoop_errc::truncated), std::size_t{1}});
  CHECK(read({3, 'a', 'b'}, bytes) == std::pair{make_error_code(hadoop_errc::truncated), std::size_t{4}});
  CHECK(read({101}, bytes).first == hadoop_errc::too_large);  // before its bytes have arrived
  CHECK(read({0x8c, 0x7f, 0xff, 0xff, 0xff}, bytes).first == hadoop_errc::too_large);
  CHECK(read({-1}, bytes).first == hadoop_errc::bad_number);  // a negative length
  CHECK(read({0x8b, 1, 0, 0, 0, 0}, bytes).first == hadoop_errc::bad_number);
  CHECK(read({0x88, 0x80, 0, 0, 0, 0, 0, 0, 0}, [](auto& r) { r.vlong(); }).first == hadoop_errc::bad_number);
  CHECK(read({0x88, 1}, [](auto& r) { r.vlong(); }).first == hadoop_errc::truncated);
  CHECK(read({5}, [](auto& r) { r.vint(6, 7); }).first == hadoop_errc::bad_number);
  CHECK(read({0xff, 0xff, 0xff, 0xff}, [](auto& r) { r.long_bytes(9); }).first == hadoop_errc::bad_number);
  CHECK(read({0, 0, 0, 10}, [](auto& r) { r.long_bytes(9); }).first == hadoop_errc::too_large);
  CHECK(read({0x8f, 5}, [](auto& r) { CHECK(r.vlong() == 5); }).first == std::error_code{});  // longer than necessary
  const auto sticks = [](WritableReader& reader) {
    reader.raw(9);
    CHECK(reader.byte() == 0);
    CHECK(reader.used() == 0);
  };
  CHECK(read({1, 2}, sticks).first == hadoop_errc::truncated);
}
