// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/wire/shard_status.hpp>

#include "support/catch.hpp"

#include <distrib/rpc/frame_limits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::ShardStatus;
using distrib::WireWriter;

namespace {

auto full() -> ShardStatus {
  ShardStatus status;
  status.task = 1;
  status.shard = 2;
  status.shards = 3;
  status.tasks = 4;
  status.ranks = 5;
  status.uptime = std::chrono::milliseconds{1LL << 40};
  status.job_hash = "abc";
  status.consistency = "asynchronous_parallel";
  status.arithmetic = "distrib";
  status.total_steps = 1ULL << 41;
  status.open = status.no_values = true;
  status.step = 7;
  status.newest_cut = 6;
  status.contributions = 35;
  status.rate_factor = 2.5;
  status.staleness = 1;
  status.stale = 14;
  status.value_bytes = 1ULL << 42;
  status.slot_bytes = 1ULL << 43;
  status.variables = 2;
  status.pushes = 8;
  status.pushed_bytes = 9;
  status.pulls = 10;
  status.pulled_bytes = 11;
  status.parked = 12;
  status.no_room = true;
  status.vacant = 16;
  status.waiting_bytes = 1ULL << 44;
  status.most_waiting_bytes = 1ULL << 45;
  status.waits_for = std::chrono::nanoseconds{17};
  status.completions = 18;
  status.completion_time = std::chrono::nanoseconds{19};
  status.horizon = 1ULL << 46;
  status.of_ranks = {{0, true, 7}, {4, false, 6, 3, false, 15, std::chrono::hours{1}}, {5, true, 3, 0, true}};
  status.of_variables = {{"dense/kernel", 13}, {"", 0}};
  for (const int power : {7, 10, 30}) status.push_times.add(std::chrono::nanoseconds{1LL << power});
  status.pull_times.add(std::chrono::nanoseconds::max());
  status.exported.emplace(ShardStatus::ExportedStatus{1, 2, 3, 4, 5, 1ULL << 63, 7});
  return status;
}

auto written(const ShardStatus& status) -> std::vector<std::byte> {
  WireWriter head;
  status.encode(head);
  return head.take();
}

/// True if `bytes` decode. Then checks that the result can be encoded and decoded again.
auto reads(ByteView bytes) -> bool {
  ShardStatus read;
  if (!read.decode(bytes)) return false;
  ShardStatus again;
  CHECK(again.decode(written(read)));
  CHECK(again == read);
  return true;
}

}  // namespace

TEST_CASE("ShardStatus: decoding returns what was encoded", "[ps]") {
  for (const ShardStatus& status : {ShardStatus{}, full()}) {
    ShardStatus read;
    REQUIRE(read.decode(written(status)));
    CHECK(read == status);
  }
}

TEST_CASE("ShardStatus: a message that does not decode is refused", "[ps]") {
  CHECK(reads({}));
  WireWriter unknown;
  unknown.text(99, "of a later version");
  CHECK(reads(unknown.view()));
  WireWriter ago;
  ago.int64(6, -1);
  CHECK_FALSE(reads(ago.view()));
  for (const std::uint32_t time : {38U, 40U}) {
    WireWriter negative;
    negative.int64(time, -1);
    CHECK_FALSE(reads(negative.view()));
  }
  WireWriter waited;
  waited.message(23, [](WireWriter& rank) { rank.int64(7, -1); });
  CHECK_FALSE(reads(waited.view()));
  for (const std::uint32_t times : {25U, 26U}) {
    WireWriter beyond;
    beyond.message(times, [](WireWriter& of) { of.message(3, [](WireWriter& bucket) { bucket.varint(1, 256); }); });
    CHECK_FALSE(reads(beyond.view()));
  }
  for (const std::uint32_t list : {23U, 24U}) {
    WireWriter nested;
    nested.bytes(list, distrib::as_bytes("\x80"));
    CHECK_FALSE(reads(nested.view()));
    WireWriter many;
    for (std::size_t i = 0; i < ShardStatus::most_listed; ++i) many.bytes(list, {});
    CHECK(reads(many.view()));
    many.bytes(list, {});
    CHECK_FALSE(reads(many.view()));
  }
}

TEST_CASE("ShardStatus: ranks beyond those that an older version reads travel in a field that it skips", "[ps]") {
  ShardStatus status;
  for (distrib::Rank rank = 0; rank < ShardStatus::most_ranks_listed; ++rank)
    status.of_ranks.push_back(
        {rank, rank % 2 == 0, rank + 1, rank / 8 + 1, rank % 3 == 0, rank, std::chrono::hours{rank}});
  const std::vector<std::byte> bytes = written(status);
  CHECK(bytes.size() < distrib::FrameLimits{}.head_bytes / 2);
  ShardStatus read;
  REQUIRE(read.decode(bytes));
  CHECK(read == status);
  std::size_t known = 0, beyond = 0;  // to an older version
  distrib::WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == distrib::wire_tag(23, distrib::WireType::bytes)) ++known;
    if (reader.tag() == distrib::wire_tag(33, distrib::WireType::bytes)) ++beyond;
  }
  CHECK(reader.ok());
  CHECK(known == ShardStatus::most_listed);
  CHECK(known + beyond == ShardStatus::most_ranks_listed);
  status.of_ranks.push_back({});
  CHECK_FALSE(read.decode(written(status)));
}

TEST_CASE(
    "ShardStatus: a message that is truncated, or has one byte changed, decodes or is refused without undefined "
    "behaviour",
    "[ps]") {
  const std::vector<std::byte> good = written(full());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < good.size(); ++size) refused += reads(ByteView{good}.first(size)) ? 0U : 1U;
  CHECK(refused > good.size() / 2);  // the others end between two fields
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const unsigned flipped : {0x01U, 0x08U, 0x80U, 0xffU}) {
      std::vector<std::byte> bad = good;
      bad[i] ^= static_cast<std::byte>(flipped);
      (void)reads(bad);  // only the sanitizers decide here; the result does not matter
    }
}
