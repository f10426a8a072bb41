// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/typed_bytes.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
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
  CHECK(TypedBytes{}.read(reader, most).empty());
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
  CHECK(TypedBytes{}.read(reader, 100).size() == 22);
  CHECK(TypedBytes{}.read(reader, 100).size() == 6);
  CHECK(typed_value(TypedBytes{}.read(reader, 100)).integer() == 9);
  CHECK(reader.used() == bytes.size());
  for (std::size_t size = 0; size < 22; ++size) {
    WritableReader cut{distrib::ByteView{bytes}.first(size)};
    CHECK(TypedBytes{}.read(cut, 100).empty());
    CHECK(cut.error() == hadoop_errc::truncated);
    CHECK(cut.wanted() > size);
  }
}

TEST_CASE(
    "typed_bytes: a value that arrives in pieces is parsed once, and found too large before all of it has arrived",
    "[hadoop][typed_bytes]") {
  const Bytes whole = bytes_from({10, 0, 0, 0, 2,                                              // a map of two
                                  7,  0, 0, 0, 1, 'k', 9, 1, 5, 8, 0, 0, 0, 0, 9,   255, 255,     // "k": (5, [], ())
                                  8,  0, 0, 0, 2, 2,   1, 2, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c'});  // [true, false]: "abc"
  for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
    TypedBytes typed;
    for (std::size_t size = 0; size < whole.size(); size += piece) {
      WritableReader reader{distrib::ByteView{whole}.first(size)};
      CHECK(typed.read(reader, whole.size()).empty());
      CHECK(reader.error() == hadoop_errc::truncated);
    }
    WritableReader reader{whole};
    CHECK(typed.read(reader, whole.size()).size() == whole.size());
    WritableReader again{whole};
    CHECK(typed.read(again, whole.size()).size() == whole.size());
  }
  for (std::size_t most = 1; most < whole.size(); ++most) {
    TypedBytes typed;
    std::size_t size = 0;
    std::error_code ec = hadoop_errc::truncated;
    for (; ec == hadoop_errc::truncated && size <= whole.size(); ++size) {
      WritableReader reader{distrib::ByteView{whole}.first(size)};
      CHECK(typed.read(reader, most).empty());
      ec = reader.error();
    }
    CHECK(ec == hadoop_errc::too_large);
    CHECK(size - 1 <= most + 9);  // at most one part more
  }

  // What was parsed before is not looked at again.
  Bytes list = bytes_from({9, 1, 5, 1, 6, 1});
  TypedBytes typed;
  WritableReader before{list};
  CHECK(typed.read(before, 100).empty());
  CHECK(before.wanted() == 7);
  std::fill_n(list.begin(), 5, std::byte{77});
  append_raw(list, bytes_from({7, 255}));
  WritableReader after{list};
  CHECK(typed.read(after, 100).size() == list.size());
}

TEST_CASE("typed_bytes: refuses wrong codes, lengths and depths", "[hadoop][typed_bytes]") {
  CHECK(typed_error(bytes_from({11})) == hadoop_errc::bad_type);
  CHECK(typed_error(bytes_from({255})) == hadoop_errc::bad_type);
  CHECK(typed_error(bytes_from({8, 0xff, 0, 0, 0})) == hadoop_errc::bad_number);
  CHECK(typed_error(bytes_from({0, 0x80, 0, 0, 0})) == hadoop_errc::bad_number);
  CHECK(typed_error(bytes_from({0, 0, 0, 1, 0}), 255) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({8, 0, 0, 0, 2, 1, 1, 1, 1}), 8) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({8, 0, 0, 0, 96}), 100) == hadoop_errc::too_large);  // more values than bytes
  CHECK(typed_error(bytes_from({10, 0, 0, 0, 48}), 100) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({7, 0, 0, 0, 96}), 100) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({7, 0, 0, 0, 95}), 100) == hadoop_errc::truncated);
  CHECK(typed_error(Bytes(32, std::byte{9})) == hadoop_errc::truncated);
  CHECK(typed_error(Bytes(33, std::byte{9})) == hadoop_errc::too_large);
  CHECK(typed_error(bytes_from({8, 0, 0, 0, 1, 255})) == hadoop_errc::bad_type);  // 255 ends lists alone
  CHECK(typed_error(Bytes(100, std::byte{9})) == hadoop_errc::too_large);  // lists inside lists
  std::error_code ec;
  CHECK(typed_value(bytes_from({1, 2, 3}), ec).body.empty());
  CHECK(ec == hadoop_errc::bad_number);
  CHECK_THROWS_AS(typed_value({}), std::system_error);
}
