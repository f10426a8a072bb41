// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/typed_bytes.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <system_error>

using distrib::as_bytes;
using distrib::as_text;
using distrib::hadoop_errc;
using distrib::hadoop::detail::append_raw;
using namespace distrib::hadoop;

namespace {

auto bytes_from(std::initializer_list<int> list) -> Bytes {
  Bytes bytes;
  for (const int byte : list) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

template <class T> auto typed(T value) -> Bytes {
  Bytes bytes;
  append_typed(bytes, value);
  return bytes;
}

auto typed_error(const Bytes& bytes, std::size_t most = 1000) -> std::error_code {
  WritableReader reader{bytes};
  CHECK(TypedBytes::read(reader, most).empty());
  return reader.error();
}

}  // namespace

TEST_CASE("typed_bytes: the bytes of each type, and the values in them", "[hadoop][typed_bytes]") {
  CHECK(distrib::to_hex(typed(std::int32_t{-2})) == "03fffffffe");
  CHECK(distrib::to_hex(typed(std::int64_t{5})) == "040000000000000005");
  CHECK(distrib::to_hex(typed(0.5)) == "063fe0000000000000");
  CHECK(distrib::to_hex(typed(std::string_view{"ab"})) == "07000000026162");
  CHECK(distrib::to_hex(typed(as_bytes("ab"))) == "00000000026162");
  CHECK(typed_value(typed(std::int32_t{-2})).integer() == -2);
  CHECK(typed_value(typed(std::int64_t{5})).real() == 5.0);
  CHECK(typed_value(typed(0.5)).real() == 0.5);
  CHECK(!typed_value(typed(0.5)).integer());
  CHECK(as_text(typed_value(typed(std::string_view{"ab"})).bytes()) == "ab");
  CHECK(typed_value(typed(as_bytes("ab"))).code == TypedCode::bytes);
  CHECK(typed_value(bytes_from({1, 0x80})).integer() == -128);
  CHECK(typed_value(bytes_from({2, 1})).integer() == 1);
  CHECK(typed_value(bytes_from({5, 0x3f, 0, 0, 0})).real() == 0.5);
  // A NullWritable, as Hadoop 3.4 sends it: a length, the name of the class, no content.
  Bytes object = bytes_from({50, 0, 0, 0, 5, 0, 2});
  append_raw(object, as_bytes("abX"));
  CHECK(as_text(typed_value(object).bytes()) == "X");
}

TEST_CASE("typed_bytes: reads values one after the other, and skips the values inside of them",
          "[hadoop][typed_bytes]") {
  Bytes bytes = bytes_from({8, 0, 0, 0, 2,   1,  7, 10, 0, 0, 0, 1, 3, 0, 0, 0, 1, 7, 0, 0, 0, 0,  // [7, {1: ""}]
                            9, 1, 5, 9, 255, 255});  // (5, ())
  append_typed(bytes, std::int64_t{9});
  WritableReader reader{bytes};
  CHECK(TypedBytes::read(reader, 100).size() == 22);
  CHECK(TypedBytes::read(reader, 100).size() == 6);
  CHECK(typed_value(TypedBytes::read(reader, 100)).integer() == 9);
  CHECK(reader.used() == bytes.size());
  for (std::size_t size = 0; size < 22; ++size) {
    WritableReader cut{distrib::ByteView{bytes}.first(size)};
    CHECK(TypedBytes::read(cut, 100).empty());
    CHECK(cut.error() == hadoop_errc::truncated);
    CHECK(cut.wanted() > size);
  }
}

TEST_CASE("typed_bytes: refuses wrong codes, lengths and depths", "[hadoop][typed_bytes]") {
  CHECK(typed_error(bytes_from({11})) == hadoop_errc::bad_type);
  CHECK(typed_error(bytes_from({255})) == hadoop_errc::bad_type);
  CHECK(typed_error(bytes_from({8, 0xff, 0, 0, 0})) == hadoop_errc::bad_number);
  CHECK(typed_error(bytes_from({0, 0x80, 0, 0, 0})) == hadoop_errc::bad_number);
  CHECK(typed_error(bytes_from({0, 0, 0, 1, 0}), 255) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({8, 0, 0, 0, 2, 1, 1, 1, 1}), 8) == hadoop_errc::too_large);
  CHECK(typed_error(Bytes(100, std::byte{9})) == hadoop_errc::too_large);  // lists inside lists
  std::error_code ec;
  CHECK(typed_value(bytes_from({1, 2, 3}), ec).body.empty());
  CHECK(ec == hadoop_errc::bad_number);
  CHECK_THROWS_AS(typed_value({}), std::system_error);
}
