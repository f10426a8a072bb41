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
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The status of a shard: the answer to `Status`, and the source of the page of metrics. A value. The counters `pushes`
/// to `pulled_bytes`, the times and `stale` start at 0 with the process; steps are steps of the job.
struct ShardStatus {
  /// What a shard knows of one rank.
  struct RankStatus {
    Rank rank = 0;  ///< Number of the rank, from 0.
    bool here = false;  ///< True if a process of the rank is joined.
    /// The newest contribution of the rank that arrived. Synchronous: other ranks of that step may still be missing.
    Step last = 0;
    /// In a job with dealt ranks: the index of the worker that serves the rank, plus 1; 0: none, or ranks are not
    /// dealt.
    std::uint32_t process = 0;
    /// In a job whose ranks may change: the rank makes no contribution to the next step, so no other rank waits for it.
    bool looks_on = false;
    /// Synchronous: steps that were completed by the contribution of this rank, while another rank had contributed
    /// before. A process that pushes the sum of a block counts as its first rank.
    std::uint64_t was_last = 0;
    /// How long these steps waited for it alone: from the arrival of the contribution before it to its own.
    std::chrono::nanoseconds waited{};

    /// Appends the fields as a protobuf message, without a length before them.
    DISTRIB_DECL void encode(WireWriter& message) const;
    /// Reads what `encode` has written; unknown fields are skipped. Returns false if the bytes are damaged; the object
    /// must then not be used.
    [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;
    [[nodiscard]] auto operator==(const RankStatus&) const -> bool = default;
  };

  /// What a shard has of one variable.
  struct VariableStatus {
    std::string name;  ///< Name of the variable.
    std::uint64_t bytes = 0;  ///< Bytes of its values on this shard.

    /// Appends the fields as a protobuf message, without a length before them.
    void encode(WireWriter& message) const {
      message.text(1, name);
      message.varint(2, bytes);
    }
    /// Reads what `encode` has written; unknown fields are skipped. Returns false if the bytes are damaged; the object
    /// must then not be used.
    [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;
    [[nodiscard]] auto operator==(const VariableStatus&) const -> bool = default;
  };

  /// What a shard has exported, see `ExportModel`.
  struct ExportedStatus {
    std::uint64_t position = 0;  ///< The newest position of the log that the shard knows; 0: none.
    Step step = 0;  ///< The step of that position.
    Step taken = 0;  ///< The newest step that the shard has exported, or is writing.
    std::uint64_t left_out = 0;  ///< Exports that were left out because files were slower than steps.
    std::uint64_t failures = 0;  ///< Work with the log that failed, and is tried again.
    std::uint64_t digest_first = 0;  ///< Fast digest of all that the shard had at step `taken`: first word,
    std::uint64_t digest_second = 0;  ///< and second word.

    /// Returns the digest as 32 hexadecimal digits.
    [[nodiscard]] DISTRIB_DECL auto digest_text() const -> std::string;
    /// Appends the fields as a protobuf message, without a length before them.
    DISTRIB_DECL void encode(WireWriter& message) const;
    /// Reads what `encode` has written; unknown fields are skipped. Returns false if the bytes are damaged; the object
    /// must then not be used.
    [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;
    [[nodiscard]] auto operator==(const ExportedStatus&) const -> bool = default;
  };

  /// Largest number of variables in the list below, and of ranks unless the shard has number 0; a message with more
  /// variables does not decode.
  static constexpr std::size_t most_listed = 1000;
  /// Largest number of ranks that a shard with number 0 lists; a message with more does not decode.
  static constexpr std::size_t most_ranks_listed = 10'000;

  std::uint32_t task = 0;  ///< The ps task.
  std::uint32_t shard = 0;  ///< The number of the shard on that task.
  std::uint32_t shards = 0;  ///< Shards of the task, replicas included; 0: the shard does not know a job yet.
  std::uint32_t tasks = 0;  ///< ps tasks of the cluster.
  std::uint32_t ranks = 0;  ///< Workers of the cluster, the chief included.
  std::chrono::milliseconds uptime{};  ///< Time since the shard started to listen.

  std::string job_hash;  ///< SHA-256 of the job's text, in hexadecimal digits; empty: no job is known.
  std::string consistency;  ///< `Consistency::describe`; empty: no job is known.
  Step total_steps = 0;  ///< Steps of the job.
  /// `Job::arithmetic` of the worker that brought the job; empty: no job is known, or the model does not describe it.
  std::string arithmetic;
  /// True when the shard has read its cuts. Until then the fields below are 0 or empty, except the counters of calls.
  bool open = false;
  bool no_values = false;  ///< True while the shard waits for the custom initial values of a worker.

  Step step = 0;  ///< Steps done; asynchronous: contributions of all ranks together.
  Step newest_cut = 0;  ///< Step of the newest durable cut; asynchronous: contributions of all ranks in it.
  std::uint64_t contributions = 0;  ///< Contributions that the values are made of, of all ranks.
  std::uint64_t stale = 0;  ///< Contributions that arrived too late to count; only with backup workers.
  /// Steps between the newest contributions of the fastest and of the slowest rank. Ranks that look on do not count.
  std::uint64_t staleness = 0;
  /// By what the learning rate of the next step is multiplied (`RankEntry::rate`), as far as the shard's log says.
  double rate_factor = 1;
  std::uint64_t value_bytes = 0;  ///< Bytes of the variables' values on this shard, without tables.
  std::uint64_t slot_bytes = 0;  ///< Bytes of the variables' slots on this shard, without tables.
  std::uint64_t variables = 0;  ///< Variables that have a part on this shard.

  std::uint64_t pushes = 0;  ///< Pushes that arrived, repeated contributions included.
  std::uint64_t pushed_bytes = 0;  ///< Bytes of their bodies.
  std::uint64_t pulls = 0;  ///< Pulls that were answered with values.
  std::uint64_t pulled_bytes = 0;  ///< Bytes of these values.
  std::uint64_t parked = 0;  ///< Pulls that wait for their answer now.

  bool no_room = false;  ///< True while the last cut that was tried found no disk space.
  std::uint64_t vacant = 0;  ///< Ranks that make the next step and have no process.
  std::uint64_t waiting_bytes = 0;  ///< Bytes of contributions, and of their sums, that wait for others of their step.
  std::uint64_t most_waiting_bytes = 0;  ///< The most that have waited at one moment since the shard was opened.
  /// Synchronous: how long no new contribution to the next step has arrived, after the first of them. 0: none has.
  std::chrono::nanoseconds waits_for{};
  std::uint64_t completions = 0;  ///< Synchronous: steps that were completed since the process started.
  /// From the arrival of the contribution that completed a step to its answer, of all completions: reducing and updating.
  std::chrono::nanoseconds completion_time{};
  Step horizon = 0;  ///< `RankLogCore::horizon`, in a job whose ranks change; 0: they do not.

  LatencyHistogram push_times;  ///< Time from the arrival of a push to its answer.
  /// Time from the arrival of a pull to its answer with values; waiting for the step is included.
  LatencyHistogram pull_times;

  std::optional<ExportedStatus> exported = {};  ///< Empty: the shard exports nothing.
  std::uint64_t nonce = 0;  ///< Of the process, for what it claims in an object store; 0: it is older, or has none.

  /// Ranks ascending; the first `most_ranks_listed` of the shard with number 0, of others the first `most_listed`.
  std::vector<RankStatus> of_ranks;
  std::vector<VariableStatus> of_variables;  ///< In the order of the shard's block; the first `most_listed`.

  /// Appends the fields as a protobuf message.
  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Reads what `encode` has written; unknown fields are skipped. Returns false if the bytes are damaged or a list has
  /// too many entries; the object must then not be used.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
  [[nodiscard]] auto operator==(const ShardStatus&) const -> bool = default;

 private:
  template <class T>
  static auto take(ByteView message, std::vector<T>& list, std::size_t most = most_listed) -> bool {
    return list.size() < most && list.emplace_back().decode(message);
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/shard_status.ipp>
#endif
