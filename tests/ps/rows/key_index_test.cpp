// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/key_index.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

using distrib::hash_key;
using distrib::KeyIndex;
using distrib::KeySlot;
using distrib::KeyUse;
using distrib::MemoryBudget;
using distrib::ps_errc;

namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// The key that has this hash: `hash_key` is a bijection.
auto key_of_hash(std::uint64_t hash) -> std::uint64_t {
  const auto unshift = [](std::uint64_t x, unsigned bits) {
    std::uint64_t found = x;
    for (unsigned done = bits; done < 64; done += bits) found = x ^ (found >> bits);
    return found;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  hash = unshift(hash, 31) * inverse(0x94D049BB133111EB);
  hash = unshift(hash, 27) * inverse(0xBF58476D1CE4E5B9);
  return unshift(hash, 30) - 0x9E37'79B9'7F4A'7C15;
}

auto find(const KeyIndex& index, std::uint64_t key) -> KeySlot* { return index.find(key, index.begin(key)); }

void insert(KeyIndex& index, std::uint64_t key, std::uint32_t row) {
  std::error_code ec;
  KeySlot* const slot = index.insert(key, ec);
  REQUIRE_FALSE(ec);
  REQUIRE(slot->use() == KeyUse{});
  REQUIRE_FALSE(slot->has_row());
  slot->set_row(row);
}

/// True if the index has exactly the keys of `expected`, with these rows.
auto is_same(const KeyIndex& index, const std::map<std::uint64_t, std::uint32_t>& expected) -> bool {
  std::map<std::uint64_t, std::uint32_t> seen;
  index.for_each([&](const KeySlot& slot) { seen[slot.key()] = slot.row(); });
  return index.size() == expected.size() && seen == expected && std::ranges::all_of(expected, [&](const auto& one) {
           const KeySlot* const slot = find(index, one.first);
           return slot != nullptr && slot->key() == one.first && slot->row() == one.second;
         });
}

auto order_of(const KeyIndex& index) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys;
  index.for_each([&](const KeySlot& slot) { keys.push_back(slot.key()); });
  return keys;
}

}  // namespace

TEST_CASE("KeySlot: a use is limited to what its bits can hold", "[ps]") {
  KeySlot slot{};
  CHECK(slot.is_empty());
  slot.set_use({4095, 7});
  CHECK(slot.use() == KeyUse{4095, 7});
  slot.set_use({4096, 1 << 20});
  CHECK(slot.use() == KeyUse{KeyUse::max_frequency, KeyUse::max_last_use});
  slot.set_row(KeySlot::max_row);
  slot.drop_row();
  CHECK_FALSE(slot.has_row());
  CHECK_FALSE(slot.is_empty());
  slot.set_row(KeySlot::max_row);
  CHECK(slot.has_row());
  CHECK(slot.row() == KeySlot::max_row);
  CHECK(KeyUse{1, 9} < KeyUse{2, 0});
}

TEST_CASE("KeySlot: a mark is beside the number of the row, and goes with the row", "[ps]") {
  KeySlot slot{};
  for (const std::uint32_t row : {0U, KeySlot::max_row}) {
    slot.set_row(row);
    CHECK(slot.mark() == distrib::RowMark::none);
    for (const auto mark : {distrib::RowMark::changed, distrib::RowMark::made, distrib::RowMark::none}) {
      slot.set_mark(mark);
      CHECK(slot.mark() == mark);
      CHECK(slot.row() == row);
      CHECK(slot.has_row());
    }
    slot.set_mark(distrib::RowMark::made);
    slot.drop_row();
    CHECK_FALSE(slot.has_row());
    CHECK_FALSE(slot.is_empty());
  }
}

TEST_CASE("KeyIndex: an empty index", "[ps]") {
  MemoryBudget budget{1 << 20};
  KeyIndex index{budget};
  CHECK(index.size() == 0);
  CHECK(index.bytes() == 0);
  CHECK(find(index, 0) == nullptr);
  CHECK(index.erase_if([](const KeySlot&) { return true; }) == 0);
  CHECK(order_of(index).empty());
}

TEST_CASE("KeyIndex: any 64 bits can be a key", "[ps]") {
  MemoryBudget budget{1 << 20};
  KeyIndex index{budget};
  std::map<std::uint64_t, std::uint32_t> expected;
  for (const std::uint64_t key : {all_bits, std::uint64_t{0}, std::uint64_t{1}, all_bits - 1, std::uint64_t{1} << 63}) {
    CHECK(find(index, key) == nullptr);
    const auto row = static_cast<std::uint32_t>(expected.size());
    insert(index, key, row);
    expected[key] = row;
    CHECK(is_same(index, expected));
  }
  index.erase(find(index, 0));
  CHECK(find(index, 0) == nullptr);
  expected.erase(0);
  CHECK(is_same(index, expected));
}

TEST_CASE("KeyIndex: grows by segments, through every size, and never moves more than one segment", "[ps]") {
  const std::string name = GENERATE("sequential", "multiples", "drawn");
  MemoryBudget budget{std::size_t{1} << 30};
  KeyIndex index{budget};
  std::mt19937_64 random{1};
  std::vector<std::uint64_t> keys;
  double most_bytes = 0;
  std::size_t found = 0;
  for (std::uint32_t n = 0; n < 1'000'000; ++n) {
    keys.push_back(name == "sequential" ? n : name == "multiples" ? std::uint64_t{n} << 40 : random());
    insert(index, keys.back(), n);
    if (n > 2000) most_bytes = std::max(most_bytes, double(index.bytes()) / double(index.size()));
    if (n % 1000 == 0) found += find(index, keys[n / 2])->row() == n / 2 ? 1U : 0U;
  }
  CHECK(found == 1000);
  CHECK(index.size() == 1'000'000);
  CHECK(index.segments() == 128);
  CHECK(index.most_moved() <= 1 << 14);
  // A small index has a mapping of its own for each segment of 16 KiB.
  CHECK(most_bytes < (distrib::detail::system_page_bytes() <= std::size_t{16} << 10 ? 34 : 68));
  CHECK(index.bytes() == budget.used_bytes());
  bool is_right = true;
  for (std::uint32_t n = 0; n < keys.size(); ++n) is_right = is_right && find(index, keys[n])->row() == n;
  CHECK(is_right);
}

TEST_CASE("KeyIndex: does what a map does, in random operations", "[ps]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(1, 2, 3));
  MemoryBudget budget{std::size_t{1} << 30};
  KeyIndex index{budget, seed == 3};
  std::map<std::uint64_t, std::uint32_t> expected;
  std::mt19937_64 random{seed};
  // Few different hashes: the first line of a segment, the last line, from which the search wraps around, and two
  // others.
  const auto draw = [&] {
    const std::uint64_t low = random() % 4 == 0 ? 0xFFFF'FFFF : random() % 3 * 0x5555'5555;
    return key_of_hash((random() % 1500) << 32 | low);
  };
  for (std::uint32_t n = 0; n < 20'000; ++n) {
    const std::uint64_t key = draw();
    KeySlot* const slot = find(index, key);
    REQUIRE((slot != nullptr) == expected.contains(key));
    if (slot == nullptr) {
      insert(index, key, n);
      expected[key] = n;
    } else if (random() % 2 == 0) {
      REQUIRE(slot->row() == expected[key]);
      index.erase(slot);
      expected.erase(key);
    }
    if (n % 4000 == 3999) {
      CHECK(is_same(index, expected));
      const std::uint64_t residue = random() % 3;
      std::size_t asked = 0;
      const std::size_t before = expected.size();
      const std::size_t erased = index.erase_if([&](const KeySlot& one) {
        ++asked;
        return one.key() % 3 == residue;
      });
      CHECK(asked == before);
      CHECK(erased == std::erase_if(expected, [&](const auto& one) { return one.first % 3 == residue; }));
      CHECK(is_same(index, expected));
    }
  }
}

TEST_CASE("KeyIndex: by_virtual_shard, the keys of a virtual shard are visited and erased alone", "[ps]") {
  // In few virtual shards segments cannot be divided; in all of them they have one each, and several in the end.
  const std::uint64_t shards = GENERATE(3U, 1024U);
  const std::size_t count = GENERATE(500U, 60'000U);
  MemoryBudget budget{std::size_t{1} << 30};
  KeyIndex index{budget, true};
  std::map<std::uint32_t, std::vector<std::uint64_t>> expected;
  std::mt19937_64 random{shards};
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t key = key_of_hash(random() % shards * 341 % 1024 << 54 | random() >> 10);
    insert(index, key, static_cast<std::uint32_t>(n));
    expected[distrib::virtual_shard(key)].push_back(key);
  }
  const auto keys_of = [&index](std::uint32_t shard) {
    std::vector<std::uint64_t> keys;
    index.for_each_of(shard, [&](const KeySlot& slot) { keys.push_back(slot.key()); });
    std::ranges::sort(keys);
    return keys;
  };
  std::size_t left = index.size();
  for (std::uint32_t shard = 0; shard < 1024; shard += shard < 700 ? 1 : 31) {
    std::vector<std::uint64_t>& keys = expected[shard];
    std::ranges::sort(keys);
    REQUIRE(keys_of(shard) == keys);
    std::size_t asked = 0;
    const auto is_odd = [](std::uint64_t key) { return key % 2 == 1; };
    const std::size_t erased = index.erase_of_if(shard, [&](const KeySlot& slot) {
      ++asked;
      return is_odd(slot.key());
    });
    REQUIRE(asked == keys.size());
    REQUIRE(erased == std::erase_if(keys, is_odd));
    REQUIRE(keys_of(shard) == keys);
    left -= erased;
  }
  CHECK(index.size() == left);
  CHECK(KeyIndex{budget, true}.size() == 0);
}

TEST_CASE("KeyIndex: for_each_from visits each key once while the index grows", "[ps]") {
  MemoryBudget budget{std::size_t{64} << 20};
  const bool by_virtual_shard = GENERATE(false, true);
  KeyIndex index{budget, by_virtual_shard};
  std::vector<std::uint64_t> seen;
  const auto see = [&](const KeySlot& slot) { seen.push_back(slot.key()); };
  CHECK(index.for_each_from(0, see) == std::uint64_t{1} << 32);
  std::vector<std::uint64_t> before;
  std::mt19937_64 random{5};
  for (int i = 0; i < 50'000; ++i) insert(index, before.emplace_back(random()), 0);
  std::size_t pieces = 0;
  for (std::uint64_t position = 0, next = 0; position < std::uint64_t{1} << 32; position = next, ++pieces) {
    const std::size_t first = seen.size();
    next = index.for_each_from(position, see);
    for (std::size_t i = first; i < seen.size(); ++i) {
      REQUIRE(index.position_of(seen[i]) >= position);
      REQUIRE(index.position_of(seen[i]) < next);
    }
    for (int i = 0; i < (by_virtual_shard ? 500 : 20'000); ++i) insert(index, random(), 0);
  }
  CHECK(pieces > 4);
  CHECK(index.segments() > (by_virtual_shard ? pieces : 2 * pieces));
  std::ranges::sort(seen);
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
  std::ranges::sort(before);
  CHECK(std::ranges::includes(seen, before));
}

TEST_CASE("KeyIndex: keys that share the bits of the directory, or of the virtual shard", "[ps]") {
  const bool is_directory = GENERATE(true, false);
  MemoryBudget budget{std::size_t{1} << 28};
  KeyIndex index{budget};
  std::map<std::uint64_t, std::uint32_t> expected;
  for (std::uint32_t n = 0; n < 120'000; ++n) {
    const std::uint64_t low = n * std::uint64_t{0x9E37'79B1} & 0xFFFF'FFFF;
    // Keys with the same 22 middle bits cannot be split; the same ten top bits make no difference.
    const std::uint64_t hash = is_directory ? std::uint64_t{n % 1024} << 54 | std::uint64_t{0x2A'AAAA} << 32 | low
                                            : std::uint64_t{0x155} << 54 | (low & 0x3F'FFFF) << 32 | low;
    insert(index, key_of_hash(hash), n);
    expected[key_of_hash(hash)] = n;
  }
  CHECK(is_same(index, expected));
  CHECK(index.bytes() < 56 * index.size());  // although the directory was doubled without effect
}

TEST_CASE("KeyIndex: 1024 keys whose hashes differ only in the virtual shard", "[ps]") {
  MemoryBudget budget{1 << 24};
  KeyIndex index{budget};
  std::map<std::uint64_t, std::uint32_t> expected;
  for (std::uint32_t n = 0; n < 1024; ++n) {
    const std::uint64_t key = key_of_hash(std::uint64_t{n} << 54 | 0x3FFF'FFFF'FFFF);
    insert(index, key, n);
    expected[key] = n;
  }
  CHECK(is_same(index, expected));
  for (std::uint32_t n = 0; n < 1024; n += 2) {
    const std::uint64_t key = key_of_hash(std::uint64_t{n} << 54 | 0x3FFF'FFFF'FFFF);
    index.erase(find(index, key));
    expected.erase(key);
  }
  CHECK(is_same(index, expected));
}

TEST_CASE("KeyIndex: positions become invalid when slots move, and growths() shows it", "[ps]") {
  MemoryBudget budget{1 << 20};
  KeyIndex index{budget};
  CHECK(index.begin(1) == nullptr);
  CHECK(index.growths() == 0);
  insert(index, 1, 0);
  CHECK(index.growths() == 1);  // the null of before is invalid too
  const KeySlot* const begin = index.begin(1);
  for (std::uint64_t key = 2; index.growths() == 1; ++key) {
    CHECK(index.begin(1) == begin);
    insert(index, key, 0);
  }
  CHECK(index.begin(1) != begin);
}

TEST_CASE("KeyIndex: if there is no memory to grow, insert() fails and the index keeps its keys", "[ps]") {
  MemoryBudget budget{3 << 20};
  KeyIndex index{budget};
  std::error_code ec;
  std::uint32_t n = 0;
  while (KeySlot* const slot = index.insert(n, ec)) slot->set_row(n++);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(index.size() == n);
  CHECK(n > 40'000);
  CHECK(budget.used_bytes() <= budget.limit_bytes());
  bool is_right = find(index, n) == nullptr;
  for (std::uint32_t key = 0; key < n; ++key) is_right = is_right && find(index, key)->row() == key;
  CHECK(is_right);

  // After other keys have been removed from its segment, the refused key fits.
  CHECK(index.erase_if([](const KeySlot& slot) { return slot.key() % 2 == 0; }) == (n + 1) / 2);
  CHECK(index.insert(n, ec) != nullptr);
  CHECK_FALSE(ec);

  MemoryBudget nothing{100};
  KeyIndex none{nothing};
  CHECK(none.insert(1, ec) == nullptr);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(nothing.used_bytes() == 0);
}

TEST_CASE("KeyIndex: the order is a function of the calls", "[ps]") {
  std::vector<std::vector<std::uint64_t>> orders;
  for (int run = 0; run < 2; ++run) {
    MemoryBudget budget{1 << 26};
    KeyIndex index{budget};
    std::mt19937_64 random{5};
    for (std::uint32_t n = 0; n < 100'000; ++n) {
      const std::uint64_t key = random() % 80'000;
      KeySlot* const slot = find(index, key);
      if (slot == nullptr) insert(index, key, n);
      else index.erase(slot);
    }
    orders.push_back(order_of(index));
  }
  CHECK(orders[0] == orders[1]);
}

TEST_CASE("MemoryPieces: pieces are zero, do not overlap, and are used again", "[ps]") {
  using distrib::detail::MemoryPieces;
  MemoryBudget budget{std::size_t{64} << 20};
  MemoryPieces pieces{budget};
  std::error_code ec;
  struct Taken {
    MemoryPieces::Piece piece;
    std::byte mark;
  };
  std::vector<Taken> taken;
  std::mt19937_64 random{3};
  bool is_right = true;
  const auto every_page = [](const MemoryPieces::Piece& piece, auto f) {
    for (std::size_t at = 0; at < piece.size_bytes; at += 4096) f(piece.data[at]);
    f(piece.data[piece.size_bytes - 1]);
  };
  std::size_t most_used = 0;
  for (int n = 0; n < 4000; ++n) {
    if (taken.size() < 120 && random() % 8 < 5) {  // of 16 KiB, of 32 KiB to 384 KiB, or of 3 MiB
      const std::size_t size = random() % 50 == 0 ? std::size_t{3} << 20 : (1 + random() % 24) << 14;
      const Taken one{pieces.take(size, ec), static_cast<std::byte>(1 + n % 255)};
      REQUIRE_FALSE(ec);
      REQUIRE(one.piece.size_bytes == size);
      every_page(one.piece, [&](std::byte& byte) {
        is_right = is_right && byte == std::byte{0};
        byte = one.mark;
      });
      taken.push_back(one);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      every_page(taken.back().piece, [&](const std::byte& byte) { is_right = is_right && byte == taken.back().mark; });
      pieces.give_back(taken.back().piece);
      taken.pop_back();
    }
    most_used = std::max(most_used, budget.used_bytes());
    REQUIRE(pieces.bytes() == budget.used_bytes());
  }
  CHECK(is_right);
  CHECK(most_used > 20 << 20);  // mappings of huge pages were cut into pieces

  const std::size_t before = pieces.bytes();
  std::size_t more = 0;
  while (!ec) more += pieces.take(1 << 20, ec).size_bytes;
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(pieces.bytes() <= budget.limit_bytes());
  CHECK(more >= budget.limit_bytes() - before - (2 << 20));
  CHECK(pieces.bytes() == budget.used_bytes());
}
