// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

// The messages of the protocol as methods of rpc. Heads are encoded as protowire; unknown fields are skipped. Blocks of
// values are bodies.

/// Writes `progress` as the message `field` of `head`. Its fields are those of `Progress`: 1: `done`; 2: `cuts`,
/// packed, ascending; 3: `no_room`; 4: `doubled`; 5: `no_values` (3 to 5 are left out when false); 6: `history`
/// (fixed64, left out when 0); 7: `all_cuts`, packed, each as its step (varint) and its lineage (fixed64), left out
/// when empty; 8, any number of times: an entry of `ranks`, see `encode_rank_entry`, but for the ranks that the job
/// begins with.
DISTRIB_DECL void encode_progress(WireWriter& head, std::uint32_t field, const Progress& progress);

/// Reads what `encode_progress` wrote. Returns false if the bytes do not decode, if cuts do not ascend, or if there are
/// more ranks than a log may have; `progress` is unspecified then. Of its `ranks` only the entries count
/// (`RankLog::add`); null: there are none.
[[nodiscard]] DISTRIB_DECL auto decode_progress(ByteView bytes, Progress& progress) -> bool;

namespace detail {
/// Reads a message that consists of a step. Returns false if it does not decode.
[[nodiscard]] inline auto decode_step(ByteView head, Step& step) -> bool {
  WireReader reader{head};
  while (reader.next())
    if (reader.tag() == wire_tag(1, WireType::varint)) step = reader.uint64();
  return reader.ok();
}
}  // namespace detail

/// Starts the work of a rank on this connection. The text of the job follows in a second Join, only when the shard asks
/// for it.
struct JoinRequest {
  Rank rank = 0;
  std::string job_hash;  ///< SHA-256 of the job's text, in hexadecimal digits.
  std::string job_text;  ///< Empty in the first Join: the shard knows the job by its hash, or asks for the text.
  CutSettings cuts;  ///< Where the shard keeps its cuts. Sent only together with the text.
  /// `Job::arithmetic` of the worker; not sent if empty. A worker of an older version sends none.
  std::string arithmetic = {};
  /// This process has begun a contribution. Sent only in a job that is not replayable.
  bool has_begun = false;
  /// In a job with dealt ranks: the index of the process that serves the rank, plus 1. 0: the worker is one rank; a
  /// worker of an older version always is.
  std::uint32_t process = 0;
  /// The worker serves a block of ranks, whose first rank is `rank`: see `RankBlock`. Not sent if 0. A shard of an
  /// older version does not read it; the worker learns that from its first `PushSum`.
  std::uint32_t level = 0;

  [[nodiscard]] auto ranks() const noexcept -> RankBlock { return {rank, level}; }

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// A process of a job with dealt ranks asks which ranks it shall serve.
struct AskRanksRequest {
  std::uint64_t process = 0;  ///< Drawn by the process at its start; not 0.
  std::uint32_t index = 0;  ///< Its index among the workers of the cluster.
  bool is_chief = false;
  bool leaves = false;  ///< It gives up all its ranks, and does not ask again.
  std::uint32_t ranks = 0;  ///< Ranks of its job.
  std::vector<Rank> serves = {};  ///< The ranks that it serves, ascending.
  std::uint32_t most_ranks = 0;  ///< `Job::most_ranks`; not sent if 0.

  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Fails also if `serves` does not ascend, or is not below `ranks` and not below `most_ranks`.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The ranks that a process shall serve. Answered when they differ from those that it serves, and at the end of the
/// job; otherwise after a while, so that both ends know of each other.
struct AskRanksReply {
  std::vector<Rank> serve = {};  ///< Ascending.
  bool over = false;  ///< The job is done.

  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Fails also if `serve` does not ascend.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// What a shard sends on the stream of Join.
struct JoinItem {
  enum class Kind : std::uint8_t {
    /// The worker is joined. Sent again whenever the worker must start again with this shard as after a Join: after a
    /// Restore or a CatchUp, when another process of its rank is lost, and (asynchronous) after a push that the shard
    /// could not count, because contributions are missing before it or the shard has no values yet.
    joined = 1,
    notice,  ///< The shard has advanced, or a cut is durable.
    /// The shard does not know this hash of a job: join again, with the text. The stream ends then.
    text_wanted,
    /// `rank` is lost permanently (`ShardOptions::restart_window`), or its process in a job that is not replayable: the
    /// job cannot continue.
    rank_lost,
  };
  Kind kind = Kind::joined;
  Progress progress;  ///< For `joined` and `notice`.
  Rank rank = 0;  ///< For `rank_lost`.

  void encode(WireWriter& head) const {
    head.varint(1, static_cast<std::uint64_t>(kind));
    encode_progress(head, 2, progress);
    if (kind == Kind::rank_lost) head.varint(3, rank);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks for values. Synchronous: the values of `step`. Asynchronous: values for the worker's next contribution, when it
/// has finished contribution `step`; `end_of_job`: the values at the end. The body says which rows are wanted too, see
/// `append_pull_rows`.
struct PullRequest {
  Step step = 0;
  SharedBuffer body = {};  ///< Null: no rows.

  void encode(WireWriter& head) const { head.varint(1, step); }
  [[nodiscard]] auto decode(ByteView head) -> bool { return detail::decode_step(head, step); }
};

/// The answer to a push: the progress of the shard.
struct PushReply {
  Progress progress;
  bool not_repeatable = false;  ///< The same name arrived earlier with other bytes; the earlier bytes count.

  void encode(WireWriter& head) const {
    encode_progress(head, 1, progress);
    if (not_repeatable) head.varint(2, 1);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The answer to a pull: the shard's values of the requested step, unless the shard no longer keeps them, and the
/// progress of the shard.
struct PullReply {
  Progress progress;
  bool gone = false;  ///< True if the shard no longer keeps the values of that step.
  Step counted = 0;  ///< What the values are made of: steps; asynchronous: contributions of all ranks together.
  SharedBuffer body;  ///< The dense block, then the requested rows. Null if both are empty, or if `gone`.
  /// Set by the shard, not encoded: CRC-32C of the body, if it is known.
  std::optional<std::uint32_t> body_checksum = {};

  void encode(WireWriter& head) const {
    encode_progress(head, 1, progress);
    if (gone) head.varint(2, 1);
    else head.varint(3, counted);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The contribution (step, rank). Its body is the shard's block of it, see `ps/store/table_gradients.hpp`.
struct PushRequest {
  Step step = 0;
  Rank rank = 0;
  /// The newest cut that every shard has, as far as the worker knows. Asynchronous: this rank's newest contribution
  /// that every shard has in a cut; shards do not use it.
  Step common_cut = 0;
  SharedBuffer body;
  /// The worker also pulls, and waits only for that answer: the answer to the push may be held back and sent with it.
  bool pull_follows = false;
  std::uint64_t history = 0;  ///< See `Contribution::history`.
  std::uint64_t export_number = 0;  ///< The state after this step is the job's export of this number. 0: it is none.
  std::uint32_t body_checksum = 0;  ///< Set when the shard decodes the message, not encoded: CRC-32C of the body.
  SharedRankEntry entry = nullptr;  ///< See `Contribution::entry`.
  Step after = 0;  ///< See `Contribution::after`.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The sum of the contributions of a block of ranks, whose first rank is `rank`. Its body is the dense block in
/// float32. Another method than `Push`, so that a shard of an older version refuses it and does not take it for the
/// contribution of one rank.
struct PushSumRequest : PushRequest {
  std::uint32_t level = 0;  ///< See `RankBlock`; not 0.

  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Fails also if `level` is 0 or too high.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Sends the shard to this cut, which every shard has. The shard answers on the stream of Join, with `joined`.
struct RestoreRequest {
  Step cut = 0;
  std::uint64_t lineage = 0;  ///< `Lineage::digest` of that cut; 0: the cut of the shard's own history.

  void encode(WireWriter& head) const {
    head.varint(1, cut);
    if (lineage != 0) head.fixed64(2, lineage);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks a replica to get the state of the other replica of its shard, because workers no longer have the contributions
/// that it needs and the other replica is ahead. The replica answers on the stream of Join, with `joined`, when it has
/// tried that; at once if it has advanced beyond `done` meanwhile.
struct CatchUpRequest {
  Step done = 0;  ///< The step of the replica, as far as the worker knows.

  void encode(WireWriter& head) const { head.varint(1, done); }
  [[nodiscard]] auto decode(ByteView head) -> bool { return detail::decode_step(head, done); }
};

/// A replica asks the other replica of its shard for a newer cut than its own, piece by piece.
struct StateRequest {
  std::string job_hash;  ///< As in JoinRequest.
  Step have = 0;  ///< The step that the asking replica has.
  std::uint64_t at = 0;  ///< Position of the wanted piece, see `CutPieces`. 0: chooses the newest cut and begins it.

  void encode(WireWriter& head) const {
    head.text(1, job_hash);
    head.varint(2, have);
    if (at != 0) head.varint(3, at);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// A piece of a cut, see `ps/cut/cut_pieces.hpp`.
struct StateReply {
  Step step = 0;  ///< The step of the cut; 0: there is no newer cut.
  std::vector<std::uint64_t> sizes;  ///< Bytes of each block of the cut; sent with the first piece.
  SharedBuffer body;  ///< Null: there is no cut, or there are no more bytes.
  /// The lineage of the cut (`to_text(const Lineage&)`), sent with the first piece. Empty: the sender is of an older
  /// version, which knows only the job's settings.
  std::string lineage = {};

  void encode(WireWriter& head) const {
    head.varint(1, step);
    if (!sizes.empty())
      head.message(2, [&](WireWriter& packed) {
        for (const std::uint64_t size : sizes) packed.raw_varint(size);
      });
    if (!lineage.empty()) head.text(4, lineage);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks for the values of a running job, without being one of its ranks. The body says which rows are wanted too, see
/// `append_pull_rows`. The answer is that of a Pull.
struct LookRequest {
  std::string job_hash;  ///< As in JoinRequest.
  /// Synchronous: the wanted step; answered with Gone if the shard no longer keeps its values, and when it is reached
  /// otherwise. `end_of_job`: the values at the end, in every mode. Otherwise not used in an asynchronous job, whose
  /// shard answers at once.
  Step step = 0;
  bool newest = false;  ///< The step that the shard is at; `step` is not used then. (Step 0 is a step like others.)
  SharedBuffer body = {};  ///< Null: no rows.

  void encode(WireWriter& head) const {
    head.text(1, job_hash);
    head.varint(2, step);
    if (newest) head.varint(3, 1);
  }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// An onlooker waits for the end of the job. Answered when the job is done, and at once if it is done already; fails if
/// the shard ends otherwise.
struct AwaitEndRequest {
  std::string job_hash;  ///< As in JoinRequest.

  void encode(WireWriter& head) const { head.text(1, job_hash); }
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks a shard for other ranks from a step on, or only for its horizon.
struct ScaleRequest {
  static constexpr std::size_t most_who_bytes = 200;

  /// Null: only asks. An entry that cannot be one, for example without ranks, arrives as one without ranks, so that the
  /// shard says what is wrong.
  SharedRankEntry entry = nullptr;
  /// Who asks, as the client says, for the shard's report. Only `most_who_bytes` of it are read.
  std::string who = {};

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The answer. An entry that is not taken fails the call instead: `ps_errc::ranks_too_soon`, `bad_ranks`, `bad_rate`,
/// `too_many_changes` or `fixed_ranks`.
struct ScaleReply {
  bool taken = false;  ///< The entry is durable at this shard, and so in force. False: the call only asked.
  Step horizon = 0;  ///< An entry must be from a later step.
  Step step = 0;  ///< The newest step that the shard has completed.
  /// The shard's log. Of a log that was received only the entries count (`RankLog::add`); null: there are none.
  SharedRankLog ranks = nullptr;
  Rank began_with = 0;  ///< How many ranks the job began with; only if the call only asked.

  DISTRIB_DECL void encode(WireWriter& head) const;
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Asks a shard to erase keys of a table.
struct EraseRequest {
  std::string table = {};
  std::vector<std::uint64_t> keys = {};  ///< In any order; at most `max_erased_at_once`. Also keys of other shards.
  /// Who asks, as the client says, for the shard's report. Only `ScaleRequest::most_who_bytes` of it are read.
  std::string who = {};

  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Fails also if there are more keys than one call may have.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// The answer, when it is durable. Keys that are not erased fail the call instead: `ps_errc::no_such_table`,
/// `not_erasable`, `too_many_erased` or `shard_done`.
struct EraseReply {
  std::vector<std::uint64_t> keys = {};  ///< Those that are of this shard, whether they are there or not; ascending.
  Step after = 0;  ///< They go after this step; 0: the shard has none of the keys.
  Step step = 0;  ///< The newest step that the shard has completed.

  DISTRIB_DECL void encode(WireWriter& head) const;
  /// Fails also if there are more keys than one call may have.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView head) -> bool;
};

/// Returns the categories of the errors of these methods, for `RpcClientOptions::categories`.
[[nodiscard]] inline auto ps_categories() -> ErrorCategories {
  static const std::error_category* const categories[] = {&detail::ps_category(), &detail::checkpoint_category()};
  return categories;
}

/// Names the rank that uses this connection. Its stream carries what the shard reports without being asked.
struct Join : StreamingMethod<"distrib.ps.Join", JoinRequest, JoinItem> {};
/// Gets the values of a step.
struct Pull : Method<"distrib.ps.Pull", PullRequest, PullReply> {};
/// Sends one contribution.
struct Push : Method<"distrib.ps.Push", PushRequest, PushReply> {};
/// Sends the sum of the contributions of several ranks.
struct PushSum : Method<"distrib.ps.PushSum", PushSumRequest, PushReply> {};
/// Sends the shard to a cut. A worker sends it to all shards.
struct Restore : Method<"distrib.ps.Restore", RestoreRequest, Empty> {};
/// Asks a replica to get the state of the other replica of its shard.
struct CatchUp : Method<"distrib.ps.CatchUp", CatchUpRequest, Empty> {};
/// Gets a newer cut of the other replica, piece by piece. Needs no Join before it, and is refused while this connection
/// has joined.
struct State : Method<"distrib.ps.State", StateRequest, StateReply> {};
/// Asks for a cut soon.
struct Save : Method<"distrib.ps.Save", Empty, Empty> {};
/// The process of this rank ends, but the rank is not done with this shard: it continues another time, or a replica of
/// the shard still lacks the last cut.
struct Leave : Method<"distrib.ps.Leave", Empty, Empty> {};
/// This rank is done with this shard, which need not wait for it any more.
struct Goodbye : Method<"distrib.ps.Goodbye", Empty, Empty> {};
/// Asks which ranks this process shall serve. Needs no Join before it. Only the first shard of the first ps task
/// answers.
struct AskRanks : Method<"distrib.ps.AskRanks", AskRanksRequest, AskRanksReply> {};
/// Gets values without a Join before it: for a process that is no rank. A shard has few places for such processes.
struct Look : Method<"distrib.ps.Look", LookRequest, PullReply> {};
/// Waits until the job is done, without a Join before it: for the same processes as `Look`, in the same places.
struct AwaitEnd : Method<"distrib.ps.AwaitEnd", AwaitEndRequest, Empty> {};
/// Asks for other ranks. Needs no Join before it. The shard reports who has asked for what.
struct Scale : Method<"distrib.ps.Scale", ScaleRequest, ScaleReply> {};
/// Asks to erase keys. Needs no Join before it. The shard reports who has asked for how many.
struct Erase : Method<"distrib.ps.Erase", EraseRequest, EraseReply> {};
/// Asks for the status of the shard. Needs no Join before it, and changes nothing.
struct Status : Method<"distrib.ps.Status", Empty, ShardStatus> {};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/messages.ipp>
#endif
