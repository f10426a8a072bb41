// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/stream_log/stream_file.hpp>
#include <distrib/stream_log/stream_item.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a shard is told once. A value.
struct StreamShardRules {
  bool is_keeper = false;  ///< True for shard 0, which takes proposals. The other shards keep copies.
  std::uint64_t steps_ahead = 64;  ///< How far the horizon is raised beyond the newest step. At least 1.
  /// Whether a proposal must continue the log. False only in tests, which plant that mistake.
  bool compares_ends = true;
};

/// What a shard answers to a worker about the log. A value.
struct StreamHello {
  StreamLogId id;  ///< The life that the shard has promised to follow.
  bool is_open = false;  ///< True if the shard has the log of this life.
  bool is_given = false;  ///< See `StreamFile`.
  SharedStreamLog log;  ///< Of shard 0: what may be told, or, before it is open, its own copy. Otherwise null.
};

namespace stream_action {

/// Make this file durable in the place of the one before, then call `written`. One at a time.
struct WriteFile {
  StreamFile file;
};
/// Send `hello()`, and what the shard says of its step and cuts, to one worker; without a peer to all.
struct SendHello {
  std::optional<std::uint64_t> peer = {};
};
/// Answer to `seal`: the shard follows this life, and has this copy.
struct SendSealed {
  std::uint64_t peer = 0;
  StreamLogId id;
  SharedStreamLog copy;
  bool is_given = false;
};
/// Send `told()` to a worker.
struct SendLog {
  std::uint64_t peer = 0;
};
/// Drop all stored contributions and parked pulls: they are of another life.
struct DropStored {};
/// Drop all cuts whose label `agrees` refuses. If the label of the values is refused, go to the newest cut that is
/// left.
struct DropOthers {};
/// The log, or what of it is durable, has grown: count and tell what may be now. The last step may be known now.
struct Moved {};
/// End the job with this error.
struct Fail {
  Error error;
};

}  // namespace stream_action

/// What the core of a shard asks for, in order.
using StreamShardAction =
    std::variant<stream_action::WriteFile, stream_action::SendHello, stream_action::SendSealed, stream_action::SendLog,
                 stream_action::DropStored, stream_action::DropOthers, stream_action::Moved, stream_action::Fail>;
using StreamShardActions = std::vector<StreamShardAction>;

/// One shard's side of a stream log. Shard 0 keeps the log; the other shards keep copies as far as what they count
/// rests on it. Decides only: reads no clock, does no I/O, draws no random number. docs/design/streams.md has the
/// rules.
///
/// The host of the core has the values, cuts and contributions of the shard. It calls `start` once, and performs each
/// action before the next event. Peers are its numbers of connected workers. What a worker sends about the log of a
/// life goes through `accept` first. Before a value of a step is told, `may_tell`; before a contribution is counted,
/// `may_count`; values and cuts have the label of the contributions that they rest on.
///
/// Threads: one at a time.
class StreamShardCore {
 public:
  DISTRIB_DECL explicit StreamShardCore(const StreamShardRules& rules);

  /// The shard starts. `file`: what was written last, if it can be read. `copies`: the logs in its cuts. `fresh`, of
  /// shard 0 only: the life that begins; its number should grow from start to start (seconds of a clock do), its other
  /// part is random.
  DISTRIB_DECL void start(std::optional<StreamFile> file, std::span<const SharedStreamLog> copies, StreamLogId fresh,
                          StreamShardActions& out);

  /// The file of the last `WriteFile` is durable.
  DISTRIB_DECL void written(StreamShardActions& out);

  /// A worker has sent something that is about the life `id`, and with it its log, which may be null. True: go on with
  /// it. False: drop it; the worker is answered.
  [[nodiscard]] DISTRIB_DECL auto accept(std::uint64_t peer, StreamLogId id, const SharedStreamLog& log,
                                         StreamShardActions& out) -> bool;

  /// A worker proposes. Shard 0 only.
  DISTRIB_DECL void append(std::uint64_t peer, std::vector<StreamProposal> proposals, StreamShardActions& out);
  /// A worker waits for a log with so many records, or for its end. Shard 0 only.
  DISTRIB_DECL void want(std::uint64_t peer, std::uint64_t records, StreamShardActions& out);
  /// A worker sees that a source begins with record `first`. Ends the job if the log needs earlier ones that it does
  /// not have yet. Shard 0 only.
  DISTRIB_DECL void expired(const std::string& source, std::uint64_t first, StreamShardActions& out);

  /// A worker has heard of a life with the number before this one: shard 0 must begin a later one. All workers are told,
  /// because calls of the life before are answered no more.
  DISTRIB_DECL void born(std::uint64_t number, StreamShardActions& out);
  /// A worker asks to follow this life. Not of shard 0.
  DISTRIB_DECL void seal(std::uint64_t peer, StreamLogId id, StreamShardActions& out);
  /// All others are sealed with this life; `log` is the longest copy. Shard 0 only.
  DISTRIB_DECL void found(StreamLogId id, const SharedStreamLog& log, StreamShardActions& out);

  /// The connection to a worker is lost.
  DISTRIB_DECL void lost(std::uint64_t peer) noexcept;
  /// The shard has the values of this step, as the newest: after each step, at the start, and after a Restore.
  DISTRIB_DECL void completed(std::uint64_t step, StreamShardActions& out);
  /// No Restore will ask for a cut before this step: the older of the two newest common cuts. Shard 0 only.
  DISTRIB_DECL void keep_from(std::uint64_t step, StreamShardActions& out);

  /// True if values of this step may be told.
  [[nodiscard]] DISTRIB_DECL auto may_tell(std::uint64_t step) const noexcept -> bool;
  /// True if contributions of this step that rest on so many items may be counted.
  [[nodiscard]] DISTRIB_DECL auto may_count(std::uint64_t step, std::uint64_t items) const noexcept -> bool;
  /// True if values of this step with this label are those of the log of this life.
  [[nodiscard]] DISTRIB_DECL auto agrees(std::uint64_t step, const std::optional<StreamLabel>& label) const noexcept
      -> bool;

  /// What is answered to workers that join.
  [[nodiscard]] DISTRIB_DECL auto hello() const -> StreamHello;
  /// What is durable of the log; null before there is one. Workers may be told this, and cuts have a copy of it.
  [[nodiscard]] auto told() const noexcept -> const SharedStreamLog& { return log_; }
  /// The life that the shard follows.
  [[nodiscard]] auto id() const noexcept -> StreamLogId { return id_; }
  /// True if the shard has the log of this life.
  [[nodiscard]] auto is_open() const noexcept -> bool { return is_open_; }

 private:
  DISTRIB_DECL void write(StreamShardActions& out);
  [[nodiscard]] DISTRIB_DECL auto next_log(StreamShardActions& out) -> SharedStreamLog;
  DISTRIB_DECL void take(StreamLog& next, StreamShardActions& out);
  [[nodiscard]] DISTRIB_DECL auto fits(const StreamLog& log, const StreamProposal& proposal) const -> bool;
  DISTRIB_DECL void adopt(const SharedStreamLog& log, StreamShardActions& out);
  DISTRIB_DECL void write_founded(StreamShardActions& out);
  DISTRIB_DECL void answer_wants(StreamShardActions& out);
  [[nodiscard]] auto newest() const noexcept -> const SharedStreamLog& { return heard_ != nullptr ? heard_ : log_; }

  StreamShardRules rules_;
  StreamLogId id_;
  SharedStreamLog log_;  // durable
  SharedStreamLog heard_;  // longer than `log_`, or the same
  std::optional<StreamFile> file_;
  std::optional<StreamFile> writing_;
  SharedStreamLog founded_;  // while `is_blank_`: what `found` was called with
  std::vector<std::pair<std::uint64_t, StreamProposal>> asked_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> wants_;
  std::vector<std::uint64_t> seals_;
  std::uint64_t step_ = 0;
  std::uint64_t keep_from_ = 0;
  bool is_open_ = false;
  bool is_blank_ = false;  // shard 0, before it has the log of its life
  bool is_given_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_shard_core.ipp>
#endif
