// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/rpc/latency_histogram.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a shard knows of one rank.
struct RankStatus {
  Rank rank = 0;
  bool here = false;  ///< It is joined.
  Step last = 0;      ///< Its newest contribution that came. Synchronous: some ranks of it may be missing yet.

  void encode(WireWriter& message) const {
    message.varint(1, rank);
    message.varint(2, here ? 1 : 0);
    message.varint(3, last);
  }
  [[nodiscard]] auto decode(ByteView message) -> bool {
    WireReader reader{message};
    while (reader.next()) switch (reader.tag()) {
        case wire_tag(1, WireType::varint): rank = reader.uint32(); break;
        case wire_tag(2, WireType::varint): here = reader.boolean(); break;
        case wire_tag(3, WireType::varint): last = reader.uint64(); break;
      }
    return reader.ok();
  }
  [[nodiscard]] auto operator==(const RankStatus&) const -> bool = default;
};

/// What a shard has of one variable.
struct VariableStatus {
  std::string name;
  std::uint64_t bytes = 0;  ///< Of its values on this shard.

  void encode(WireWriter& message) const {
    message.text(1, name);
    message.varint(2, bytes);
  }
  [[nodiscard]] auto decode(ByteView message) -> bool {
    WireReader reader{message};
    while (reader.next()) switch (reader.tag()) {
        case wire_tag(1, WireType::bytes): name = reader.text(); break;
        case wire_tag(2, WireType::varint): bytes = reader.uint64(); break;
      }
    return reader.ok();
  }
  [[nodiscard]] auto operator==(const VariableStatus&) const -> bool = default;
};

/// How a shard is: the answer to `Status`, and what a page of metrics is made of. A value. Counters are of this process
/// and begin at 0 with it; steps are of the job.
struct ShardStatus {
  /// Most ranks, and most variables, that are listed; a status that lists more is refused.
  static constexpr std::size_t most_listed = 1000;

  std::uint32_t task = 0;  ///< Of which ps task,
  std::uint32_t shard = 0;  ///< and which of its shards.
  std::uint32_t shards = 0;  ///< Shards of the task; 0: no job is known.
  std::uint32_t tasks = 0;  ///< ps tasks of the cluster.
  std::uint32_t ranks = 0;  ///< Workers of the cluster, the chief included.
  std::chrono::milliseconds uptime{};  ///< Since the shard began to listen.

  std::string job_hash;  ///< SHA-256 of the job's text, in hexadecimal digits; empty: none is known.
  std::string consistency;
  Step total_steps = 0;
  bool open = false;  ///< Its cuts are read. What follows is 0 or empty until then.
  bool no_values = false;  ///< It waits for the custom initial values, which any worker sends.

  Step step = 0;  ///< Steps done; asynchronous: contributions of all ranks together.
  Step newest_cut = 0;  ///< What the newest durable cut holds, counted likewise.
  std::uint64_t contributions = 0;  ///< What the values are made of, ranks counted one by one.
  std::uint64_t stale = 0;  ///< Contributions that came too late to count, with backup workers.
  std::uint64_t staleness = 0;  ///< How far the newest contribution of the slowest rank is behind the fastest.
  std::uint64_t value_bytes = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t variables = 0;  ///< Variables that have a part here.

  std::uint64_t pushes = 0;  ///< Answered, those that came twice included.
  std::uint64_t pushed_bytes = 0;
  std::uint64_t pulls = 0;  ///< Answered with values.
  std::uint64_t pulled_bytes = 0;
  std::uint64_t parked = 0;  ///< Pulls that wait for their step.

  LatencyHistogram push_times;  ///< From when a push had come to its answer.
  LatencyHistogram pull_times;  ///< Of pulls that were answered with values; waiting for their step included.

  std::vector<RankStatus> of_ranks;  ///< Ascending; the first `most_listed`.
  std::vector<VariableStatus> of_variables;  ///< As they lie in the shard's block; the first `most_listed`.

  template <class = void> void encode(WireWriter& head) const {
    head.varint(1, task);
    head.varint(2, shard);
    head.varint(3, shards);
    head.varint(4, tasks);
    head.varint(5, ranks);
    head.varint(6, static_cast<std::uint64_t>(uptime.count()));
    head.text(7, job_hash);
    head.text(8, consistency);
    head.varint(9, total_steps);
    head.varint(10, open ? 1 : 0);
    head.varint(11, step);
    head.varint(12, newest_cut);
    head.varint(13, contributions);
    head.varint(14, staleness);
    head.varint(15, value_bytes);
    head.varint(16, slot_bytes);
    head.varint(17, variables);
    head.varint(18, pushes);
    head.varint(19, pushed_bytes);
    head.varint(20, pulls);
    head.varint(21, pulled_bytes);
    head.varint(22, parked);
    for (const RankStatus& rank : of_ranks) head.message(23, [&](WireWriter& message) { rank.encode(message); });
    for (const VariableStatus& variable : of_variables)
      head.message(24, [&](WireWriter& message) { variable.encode(message); });
    head.message(25, [&](WireWriter& message) { push_times.encode(message); });
    head.message(26, [&](WireWriter& message) { pull_times.encode(message); });
    head.varint(27, stale);
    head.varint(28, no_values ? 1 : 0);
  }
  template <class = void> [[nodiscard]] auto decode(ByteView head) -> bool {
    bool good = true;
    WireReader reader{head};
    while (good && reader.next()) switch (reader.tag()) {
        case wire_tag(1, WireType::varint): task = reader.uint32(); break;
        case wire_tag(2, WireType::varint): shard = reader.uint32(); break;
        case wire_tag(3, WireType::varint): shards = reader.uint32(); break;
        case wire_tag(4, WireType::varint): tasks = reader.uint32(); break;
        case wire_tag(5, WireType::varint): ranks = reader.uint32(); break;
        case wire_tag(6, WireType::varint):
          good = reader.int64() >= 0;
          uptime = std::chrono::milliseconds{reader.int64()};
          break;
        case wire_tag(7, WireType::bytes): job_hash = reader.text(); break;
        case wire_tag(8, WireType::bytes): consistency = reader.text(); break;
        case wire_tag(9, WireType::varint): total_steps = reader.uint64(); break;
        case wire_tag(10, WireType::varint): open = reader.boolean(); break;
        case wire_tag(11, WireType::varint): step = reader.uint64(); break;
        case wire_tag(12, WireType::varint): newest_cut = reader.uint64(); break;
        case wire_tag(13, WireType::varint): contributions = reader.uint64(); break;
        case wire_tag(14, WireType::varint): staleness = reader.uint64(); break;
        case wire_tag(15, WireType::varint): value_bytes = reader.uint64(); break;
        case wire_tag(16, WireType::varint): slot_bytes = reader.uint64(); break;
        case wire_tag(17, WireType::varint): variables = reader.uint64(); break;
        case wire_tag(18, WireType::varint): pushes = reader.uint64(); break;
        case wire_tag(19, WireType::varint): pushed_bytes = reader.uint64(); break;
        case wire_tag(20, WireType::varint): pulls = reader.uint64(); break;
        case wire_tag(21, WireType::varint): pulled_bytes = reader.uint64(); break;
        case wire_tag(22, WireType::varint): parked = reader.uint64(); break;
        case wire_tag(23, WireType::bytes): good = take(reader.bytes(), of_ranks); break;
        case wire_tag(24, WireType::bytes): good = take(reader.bytes(), of_variables); break;
        case wire_tag(25, WireType::bytes): good = push_times.decode(reader.bytes()); break;
        case wire_tag(26, WireType::bytes): good = pull_times.decode(reader.bytes()); break;
        case wire_tag(27, WireType::varint): stale = reader.uint64(); break;
        case wire_tag(28, WireType::varint): no_values = reader.boolean(); break;
      }
    return good && reader.ok();
  }
  [[nodiscard]] auto operator==(const ShardStatus&) const -> bool = default;

 private:
  template <class T>
  static auto take(ByteView message, std::vector<T>& list) -> bool {
    return list.size() < most_listed && list.emplace_back().decode(message);
  }
};

}  // namespace v0
}  // namespace distrib
