// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/rpc/latency_histogram.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a shard is: the answer to `Status`, and what a page of metrics is made of. A value. Counters are of this process
/// and begin at 0 with it; steps are of the job.
struct ShardStatus {
  /// What a shard knows of one rank.
  struct RankStatus {
    Rank rank = 0;
    bool here = false;  ///< It is joined.
    Step last = 0;  ///< Its newest contribution that came. Synchronous: some ranks of it may be missing yet.

    void encode(WireWriter& message) const {
      message.varint(1, rank);
      message.varint(2, here ? 1 : 0);
      message.varint(3, last);
    }
    [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;
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
    [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;
    [[nodiscard]] auto operator==(const VariableStatus&) const -> bool = default;
  };

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

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
  [[nodiscard]] auto operator==(const ShardStatus&) const -> bool = default;

 private:
  template <class T>
  static auto take(ByteView message, std::vector<T>& list) -> bool {
    return list.size() < most_listed && list.emplace_back().decode(message);
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/shard_status.ipp>
#endif
