// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_shard_core.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace stream_action {

/// Join this shard, whose answer is passed to `joined`.
struct Join {
  std::uint32_t shard = 0;
};
/// Call `StreamShardCore::born` of shard 0.
struct Born {
  std::uint64_t number = 0;
};
/// Call `StreamShardCore::seal` of a shard.
struct Seal {
  std::uint32_t shard = 0;
  StreamLogId id;
};
/// Call `StreamShardCore::found` of shard 0.
struct Found {
  StreamLogId id;
  SharedStreamLog log;
};
/// Send the log to a shard, for `accept`.
struct GiveLog {
  std::uint32_t shard = 0;
};
/// Call `StreamShardCore::want` of shard 0.
struct Want {
  std::uint64_t records = 0;
};
/// The log is of another life: drop stored contributions whose label `log()` does not agree with.
struct OtherLife {};
/// All shards have the log of one life: begin at the least of their steps.
struct Ready {};
/// Something was started again: call `begin`, and use no value that was told before.
struct BeginAgain {};
/// This shard has joined again, in the same life: send it what it lacks, and ask it again.
struct Serve {
  std::uint32_t shard = 0;
};

}  // namespace stream_action

/// What the core of a worker asks for, in order.
using StreamWorkerAction =
    std::variant<stream_action::Join, stream_action::Born, stream_action::Seal, stream_action::Found,
                 stream_action::GiveLog, stream_action::Want, stream_action::OtherLife, stream_action::Ready,
                 stream_action::BeginAgain, stream_action::Serve>;
using StreamWorkerActions = std::vector<StreamWorkerAction>;

/// A worker's side of a stream log: it brings all shards to one life of the log, and follows the log. Any worker can
/// open a log whose shard 0 was started again: it seals the other shards, and gives shard 0 the longest copy. Decides
/// only.
///
/// A message of a shard that belongs to a life (values, for example) counts only if `follows` its id.
///
/// Threads: one at a time.
class StreamWorkerCore {
 public:
  /// A worker of a job with so many shards. `first` is the log with which the job begins, the same in all workers.
  DISTRIB_DECL StreamWorkerCore(std::uint32_t shards, StreamLog first);

  /// Begins, or begins again. `asks` false: the shards will answer as after `Join`, without being asked.
  DISTRIB_DECL void begin(StreamWorkerActions& out, bool asks = true);
  /// The answer of a shard to `Join`, or a notice of it.
  DISTRIB_DECL void joined(std::uint32_t shard, const StreamHello& hello, StreamWorkerActions& out);
  /// The answer of a shard to `Seal`.
  DISTRIB_DECL void sealed(std::uint32_t shard, StreamLogId id, const SharedStreamLog& copy, bool is_given,
                           StreamWorkerActions& out);
  /// Shard 0 has told its log, alone or with values; null: it has not.
  DISTRIB_DECL void hear(const SharedStreamLog& log, StreamWorkerActions& out);
  /// Asks once for a log with so many records.
  DISTRIB_DECL void want(std::uint64_t records, StreamWorkerActions& out);

  /// True if messages of this life count now.
  [[nodiscard]] auto follows(StreamLogId id) const noexcept -> bool { return is_running_ && id == id_; }
  /// The log of the life that the worker follows; null before it has one.
  [[nodiscard]] auto log() const noexcept -> const SharedStreamLog& { return log_; }
  /// The life that the worker follows.
  [[nodiscard]] auto id() const noexcept -> StreamLogId { return id_; }
  /// True between `Ready` and the next `begin`.
  [[nodiscard]] auto is_running() const noexcept -> bool { return is_running_; }

 private:
  struct Known {
    StreamLogId id;
    bool is_open = false;
  };
  struct Copy {
    SharedStreamLog log;
    bool is_given = false;
  };

  DISTRIB_DECL void answered(StreamWorkerActions& out);
  DISTRIB_DECL void found(StreamWorkerActions& out);
  DISTRIB_DECL void mend(std::uint32_t shard, StreamWorkerActions& out);

  SharedStreamLog first_;
  SharedStreamLog log_;
  StreamLogId id_;
  std::vector<Known> known_;  // of each shard
  std::vector<std::optional<Copy>> sealed_;  // of each shard
  Copy copy_of_keeper_;
  std::set<std::uint32_t> waiting_;
  std::uint64_t wanted_ = 0;  // 0: nothing is asked
  bool is_running_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_worker_core.ipp>
#endif
