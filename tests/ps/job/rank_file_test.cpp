// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rank_file.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/sim/dice.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

using distrib::Rank;
using distrib::RankEntry;
using distrib::RankFile;
using distrib::SharedRankEntry;
using distrib::Step;

namespace {

auto kept_entry(Step from, std::uint64_t number, std::vector<Rank> ranks) -> SharedRankEntry {
  return std::make_shared<const RankEntry>(RankEntry{from, number, std::move(ranks)});
}

/// Returns the bytes of the message that `encode_rank_entry` writes.
auto message_of(const RankEntry& entry) -> std::vector<std::byte> {
  distrib::WireWriter head;
  encode_rank_entry(head, 1, entry);
  distrib::WireReader reader{head.view()};
  REQUIRE(reader.next());
  return {reader.bytes().begin(), reader.bytes().end()};
}

}  // namespace

TEST_CASE("RankFile: reading returns what was written", "[ps]") {
  const RankFile file{1200, {kept_entry(5, 1, {0, 1, 2, 3}), kept_entry(900, 1ULL << 50, {2, 7, 8, 9, 1000})}};
  const auto read = distrib::parse_rank_file(to_bytes(file));
  REQUIRE(read);
  CHECK(read->horizon == 1200);
  REQUIRE(read->entries.size() == 2);
  CHECK(*read->entries[0] == *file.entries[0]);
  CHECK(*read->entries[1] == *file.entries[1]);
  RankFile with_rates = file;
  for (SharedRankEntry& entry : with_rates.entries) {
    RankEntry changed = *entry;
    changed.rate = entry == file.entries[0] ? distrib::RankRate{0.1, 1e4, 500} : distrib::RankRate{3, 3, 0};
    entry = std::make_shared<const RankEntry>(std::move(changed));
  }
  const auto again = distrib::parse_rank_file(to_bytes(with_rates));
  REQUIRE(again);
  REQUIRE(again->entries.size() == 2);
  CHECK(*again->entries[0] == *with_rates.entries[0]);
  CHECK(*again->entries[1] == *with_rates.entries[1]);
  const auto empty = distrib::parse_rank_file(to_bytes(RankFile{}));
  REQUIRE(empty);
  CHECK(empty->horizon == 0);
  CHECK(empty->entries.empty());
}

TEST_CASE("RankFile: an entry has as many bytes as its ranks have runs", "[ps]") {
  std::vector<Rank> many(4000);
  std::iota(many.begin(), many.end(), 100);
  CHECK(message_of({5, 1, many}).size() < 16);
  // a rate has bytes only if it is not the schedule's
  CHECK(message_of({5, 1, many, {3, 3, 0}}).size() == message_of({5, 1, many}).size() + 18);
}

TEST_CASE("RankFile: damaged bytes are refused, and those of a newer version", "[ps]") {
  const std::vector<std::byte> good = to_bytes(RankFile{12, {kept_entry(5, 1, {0, 1, 5})}});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(distrib::parse_rank_file(distrib::ByteView{good}.first(size)));
  distrib::sim::Dice dice{1};
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> damaged = good;
    damaged[at] ^= static_cast<std::byte>(1U << dice.below(8));
    CHECK_FALSE(distrib::parse_rank_file(damaged));
  }
}

TEST_CASE("decode_rank_entry: what an unknown peer sends is bounded", "[ps]") {
  const RankEntry entry{7, 3, {4, 5, 9}};
  const SharedRankEntry read = distrib::decode_rank_entry(message_of(entry), 3);
  REQUIRE(read != nullptr);
  CHECK(*read == entry);
  CHECK(distrib::decode_rank_entry(message_of(entry), 2) == nullptr);
  CHECK(distrib::decode_rank_entry(message_of({7, 3, {}}), 9) == nullptr);
  CHECK(distrib::decode_rank_entry(message_of({0, 3, {1}}), 9) == nullptr);
  CHECK(distrib::decode_rank_entry(message_of({7, 3, {distrib::max_job_ranks - 1}}), 9) != nullptr);
  CHECK(distrib::decode_rank_entry(message_of({7, 3, {distrib::max_job_ranks}}), 9) == nullptr);
  const auto packed = [](std::vector<std::uint64_t> numbers) {
    distrib::WireWriter message;
    message.varint(1, 7);
    message.message(3, [&](distrib::WireWriter& runs) {
      for (const std::uint64_t number : numbers) runs.raw_varint(number);
    });
    return message.take();
  };
  CHECK(distrib::decode_rank_entry(packed({3, 2}), 9) != nullptr);
  CHECK(distrib::decode_rank_entry(packed({3, 0}), 9) == nullptr);
  CHECK(distrib::decode_rank_entry(packed({3, 2, 0, 1}), 9) == nullptr);  // one run
  CHECK(distrib::decode_rank_entry(packed({3}), 9) == nullptr);
  CHECK(distrib::decode_rank_entry(packed({3, ~std::uint64_t{0}}), 9) == nullptr);
  CHECK(distrib::decode_rank_entry(packed({~std::uint64_t{0}, 1}), 9) == nullptr);
}
