// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/key_lists.hpp>

#include <distrib/core/protowire.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

using distrib::append_keys;
using distrib::KeyLists;
using distrib::read_key_lists;
using distrib::varint_bytes;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t largest_number = ~std::uint64_t{0};

auto bytes(std::initializer_list<int> numbers) -> Bytes {
  Bytes made;
  for (const int number : numbers) made.push_back(static_cast<std::byte>(number));
  return made;
}

auto written(const KeyLists& lists) -> Bytes {
  Bytes made;
  for (const auto& keys : lists) append_keys(keys, made);
  return made;
}

/// True if `of` can be read as that number of lists. Reads a copy, so that a sanitizer sees a read beyond its end.
auto is_read(const Bytes& of, std::size_t lists) -> bool {
  const Bytes own{of};
  KeyLists read(lists, {1, 2, 3});
  return read_key_lists(own, read);
}

auto ascends(const std::vector<std::uint64_t>& keys) -> bool {
  return std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>{}) == keys.end();
}

}  // namespace

TEST_CASE("varint_bytes: one byte for each seven bits", "[ps]") {
  CHECK(varint_bytes(0) == 1);
  CHECK(varint_bytes(127) == 1);
  CHECK(varint_bytes(128) == 2);
  CHECK(varint_bytes((1 << 14) - 1) == 2);
  CHECK(varint_bytes(1 << 14) == 3);
  CHECK(varint_bytes(largest_number >> 1) == 9);
  CHECK(varint_bytes(largest_number) == 10);
  std::byte to[distrib::detail::max_varint_bytes];
  for (unsigned bit = 0; bit < 64; ++bit)
    CHECK(varint_bytes(std::uint64_t{1} << bit) == distrib::detail::write_varint(std::uint64_t{1} << bit, to));
}

TEST_CASE("append_keys: writes twice the number of keys, the first key, then differences", "[ps]") {
  CHECK(written({}).empty());
  CHECK(written({{}}) == bytes({0}));
  CHECK(written({{0}}) == bytes({2, 0}));
  CHECK(written({{5, 6, 300}, {}, {128}}) == bytes({6, 5, 1, 0xA6, 2, 0, 2, 0x80, 1}));
}

TEST_CASE("append_keys: writes keys of 8 bytes if differences do not save a quarter", "[ps]") {
  CHECK(written({{largest_number}}) == bytes({3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  CHECK(written({{2, largest_number - 1}}) == bytes({4, 2, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}));
  CHECK(written({{1ULL << 42}}).size() == 9);  // the difference would take 7 bytes of 8
  CHECK(written({{(1ULL << 42) - 1}}) == bytes({2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}));
}

TEST_CASE("read_key_lists: reads what append_keys wrote", "[ps]") {
  std::mt19937_64 random{3};
  for (int round = 0; round < 200; ++round) {
    KeyLists lists(random() % 5);
    for (auto& keys : lists) {
      std::set<std::uint64_t> unique;
      for (std::size_t n = random() % 40; n > 0; --n) unique.insert(random() >> random() % 64);
      if (round % 7 == 0) unique.insert({0, largest_number});
      keys.assign(unique.begin(), unique.end());
    }
    KeyLists read(lists.size(), {9, 9});
    REQUIRE(read_key_lists(written(lists), read));
    CHECK(read == lists);
  }
}

TEST_CASE("read_key_lists: reads the same as reading varint by varint, also for varints longer than needed", "[ps]") {
  std::mt19937 random{2};
  std::size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t count = random() % 12;
    Bytes of{static_cast<std::byte>(2 * count)};
    for (std::size_t left = count; left > 0;) {
      const bool is_last = random() % 2 == 0;  // of the bytes of a varint
      of.push_back(static_cast<std::byte>(random() % 127 + (is_last ? 1 : 129)));
      left -= is_last ? 1 : 0;
    }
    if (of.size() > 1 && random() % 8 == 0) of.pop_back();
    distrib::ByteView slow{of};
    slow = slow.subspan(1);
    std::vector<std::uint64_t> expected(count);
    bool is_good = true;
    for (std::size_t i = 0; i < count && is_good; ++i) {
      is_good = distrib::detail::read_varint(slow, expected[i]);
      if (i != 0) is_good = is_good && (expected[i] += expected[i - 1]) > expected[i - 1];
    }
    KeyLists read(1);
    REQUIRE(read_key_lists(Bytes{of}, read) == (is_good && slow.empty()));
    if (!is_good) continue;
    ++accepted;
    REQUIRE(read.front() == expected);
  }
  CHECK(accepted > 5000);
}

TEST_CASE("read_key_lists: refuses everything else", "[ps]") {
  CHECK(is_read({}, 0));
  CHECK_FALSE(is_read({}, 1));
  CHECK_FALSE(is_read(bytes({0}), 0));
  CHECK(is_read(bytes({0}), 1));
  CHECK_FALSE(is_read(bytes({0}), 2));
  CHECK_FALSE(is_read(bytes({0, 0}), 1));
  CHECK(is_read(bytes({4, 0, 1}), 1));
  CHECK_FALSE(is_read(bytes({4, 0, 0}), 1));  // a key twice
  CHECK_FALSE(is_read(bytes({4, 7, 0}), 1));
  // Sums beyond 64 bits: the second key would be the same, or smaller.
  CHECK_FALSE(is_read(bytes({4, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}), 1));
  CHECK_FALSE(is_read(bytes({4, 5, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}), 1));
  CHECK(is_read(bytes({4, 5, 0xFA, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}), 1));
  // Keys of 8 bytes: none, one, two that ascend, the same twice, two that descend.
  CHECK(is_read(bytes({1}), 1));
  CHECK(is_read(bytes({3, 7, 0, 0, 0, 0, 0, 0, 0}), 1));
  CHECK(is_read(bytes({5, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}), 1));
  CHECK_FALSE(is_read(bytes({5, 7, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}), 1));
  CHECK_FALSE(is_read(bytes({5, 0, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}), 1));
  // More keys than bytes, up to numbers that no memory can hold.
  CHECK_FALSE(is_read(bytes({6, 0, 1}), 1));
  CHECK_FALSE(is_read(bytes({3, 7, 0, 0, 0, 0, 0, 0}), 1));
  for (const int lowest : {0xFE, 0xFF})
    CHECK_FALSE(is_read(bytes({lowest, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1}), 1));
  CHECK_FALSE(is_read(bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}), 1));  // not a varint
}

TEST_CASE("read_key_lists: refuses lists that are cut short anywhere, or too long", "[ps]") {
  const KeyLists lists{{1, 300, 70'000}, {}, {largest_number - 1, largest_number}, {8}};
  const Bytes whole = written(lists);
  CHECK(is_read(whole, 4));
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(is_read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, 4));
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(is_read(longer, 4));
}

TEST_CASE("read_key_lists: 100 000 lists of random bytes", "[ps]") {
  std::mt19937 random{1};
  std::size_t accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    Bytes of(random() % 12);
    for (std::byte& one : of) one = static_cast<std::byte>(random() % (round % 2 == 0 ? 256 : 5));
    KeyLists read(random() % 4);
    const bool is_good = read_key_lists(of, read);
    accepted += is_good ? 1 : 0;
    std::size_t keys = 0;
    for (const auto& list : read) {
      keys += list.size();
      if (is_good && !ascends(list)) FAIL("keys that do not ascend");
    }
    if (keys > of.size()) FAIL("more keys than bytes");
  }
  CHECK(accepted > 1000);
}
