// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/row_digest.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a shard that exports is told once. A value.
struct ExportRules {
  std::uint32_t shard = 0;  ///< Number of the shard.
  std::uint32_t shards = 1;  ///< Number of shards of the job.
  bool synchronous = true;  ///< True if the values of a step are the same in every run of the job.
  std::uint64_t every = 1;  ///< Steps between exports of a synchronous job.
  std::uint64_t base_every = 50;  ///< At each such export a base is due: all rows, beside the delta. At least 1.
  /// When the deltas since the newest base have more bytes than the base, a base is due at the next export whose
  /// number is a multiple of this. A position names only bases of one label, and each shard learns of the bytes at
  /// another moment. At least 1. After bases that not all shards have written, this and `base_every` count two, four,
  /// ... times.
  std::uint64_t base_turn = 4;
  /// A chain of written parts that are not committed is not continued beyond this: another shard may have missed one of
  /// the labels, and then none of the parts behind it can be committed. The next part whose label is a multiple of this
  /// (in a synchronous job: of this times `every`) has all rows. At least 1.
  std::size_t most_pending = 8;
  std::uint64_t new_log = 1;  ///< Random number that names the log, if this shard begins it.
};

/// What a cut keeps of the exports of its shard, so that a shard that starts from the cut can continue the log with
/// deltas. Only for a cut of the very step of an export; other cuts keep an empty one. A value.
struct ExportMark {
  std::string base;  ///< The part that has exactly the rows of the cut; empty: none.
  std::vector<LogVote>
      votes;  ///< The newest votes whose positions were not known to be committed; the last one is for `base`.

  [[nodiscard]] auto operator==(const ExportMark&) const -> bool = default;
};

/// `head` as it was read, and the manifest that it names.
struct LogView {
  LogHead head;  ///< The head; a new one if the log has none yet.
  std::string version;  ///< Names what was read, for the swap; opaque.
  std::optional<LogManifest> manifest;  ///< Empty if there is no position yet.
};

namespace export_action {

/// Read `head` and the manifest that it names, then call `log_read`.
struct ReadLog {};
/// Replace `head` if its version is still this one, then call `swapped`.
struct SwapHead {
  std::string version;
  LogHead head;
};
/// Write an object that is written once.
struct Put {
  std::string name;
  std::string text;
};
/// Read these votes, then call `votes_read` with one for each name, in this order.
struct ReadVotes {
  std::vector<std::string> names;
};
/// Remove an object: a vote that has been counted.
struct Remove {
  std::string name;
};
/// This shard has committed a position.
struct Committed {
  LogManifest manifest;
  bool has_new_base = false;  ///< A reader can begin with a newer base than before: old positions may be removed.
};
/// Another process has taken this shard's number. If this one is still the shard's, it goes on calling `poll`: the next
/// call takes the number back. Otherwise it must end: two processes that both go on keep each other from exporting, but
/// neither can commit what is wrong.
struct Replaced {};

}  // namespace export_action

/// What the core of an exporting shard asks for, in order, each after the one before it. If one of them fails, the rest
/// is dropped and `failed` is called.
using ExportAction =
    std::variant<export_action::ReadLog, export_action::SwapHead, export_action::Put, export_action::ReadVotes,
                 export_action::Remove, export_action::Committed, export_action::Replaced>;
using ExportActions = std::vector<ExportAction>;

/// How a shard exports at a step.
struct ExportPlan {
  enum class Kind : std::uint8_t {
    nothing,  ///< Export nothing.
    delta,  ///< Export what has changed since the part `on`.
    full,  ///< Export all rows.
  };
  Kind kind = Kind::nothing;
  std::string on = {};  ///< For a delta, unless `on_taken`.
  /// For a delta: it is one to the newest part that was taken and is not written yet.
  bool on_taken = false;
  std::uint64_t label = 0;  ///< The label of the part.
  bool forget_changes = false;  ///< True: what follows is counted as changed since this step.
  /// With a delta: all rows should be copied as well, and be written beside other work. If they are, `base_taken` is
  /// called.
  bool with_base = false;
};

/// One shard's side of an export log: which part it writes, when its vote counts, and who commits a position. Decides
/// only: reads no clock, does no I/O. docs/design/export_log.md has the rules.
///
/// A shard that starts calls `start`. At a step of an export it calls `plan`, writes the part, and calls `written`; then
/// `vote`, of an asynchronous job not before a cut of this step is durable. `poll` from time to time: any shard may
/// commit what all have voted for. Only one chain of actions is under way at a time: while `is_busy()`, `start` and
/// `poll` do nothing.
///
/// A shard that writes parts while it trains calls `taken` after `plan`, when it has copied the rows, and `written`
/// later, for each part in turn. A part that was taken must be written.
///
/// When a base is due, `plan` asks for a delta and for all rows of the same step. These rows may be written at any
/// time later, so no position waits for them: `base_taken` after `plan`, and when they are written `base_written`.
/// Votes for later labels then carry the base, until a position names it.
///
/// Threads: one at a time.
class ExportCore {
 public:
  /// A shard at `lineage`, which starts from a cut with `mark`. An empty mark: from a cut that has none.
  DISTRIB_DECL ExportCore(const ExportRules& rules, std::uint64_t lineage, ExportMark mark);

  /// Takes the shard's number: votes of processes that had it before do not count any more.
  DISTRIB_DECL void start(ExportActions& out);

  /// Looks for a position that can be committed. Before the number is taken: tries that again.
  DISTRIB_DECL void poll(ExportActions& out);

  /// Answers to actions.
  DISTRIB_DECL void log_read(LogView view, ExportActions& out);
  DISTRIB_DECL void swapped(bool done, ExportActions& out);
  DISTRIB_DECL void votes_read(std::span<const std::optional<LogVote>> votes, ExportActions& out);
  /// An action failed, and those behind it were dropped. The core tries again at the next `poll`.
  DISTRIB_DECL void failed() noexcept;

  /// Decides what is exported at `step`, whose digest is `state` (`LogPart::state`), and is called at each step of an
  /// export. `state` is compared only at the step of the newest position; at others it may be anything. What it returns
  /// must be done, followed by `written` unless the kind is `nothing`. `number`: number of the export, the same on all
  /// shards, which decides when a base is due. 0: it follows from the label. `all_rows`: the part itself has all rows.
  [[nodiscard]] DISTRIB_DECL auto plan(std::uint64_t step, const RowDigest& state, std::uint64_t number = 0,
                                       bool all_rows = false) -> ExportPlan;

  /// The rows for the part of the last plan are copied: it will be written.
  void taken() { taken_.push_back({planned_label_, true}); }

  /// The part of the last plan exists, or of the first one that was taken and is not written yet. `part.on` must be
  /// that of its plan.
  DISTRIB_DECL void written(std::uint64_t step, LogPart part, std::vector<LogTable> tables);

  /// The rows for the base of the last plan are copied. Called before `written` for its part. Afterwards
  /// `base_written` or `base_dropped` is called, unless this core ends before.
  DISTRIB_DECL void base_taken();
  /// The base that was taken at this label is written, before or after its part. If it is of no use any more, it is
  /// removed when no position can name it.
  DISTRIB_DECL void base_written(std::uint64_t label, std::string name, std::uint64_t bytes);
  /// That base will not be written.
  DISTRIB_DECL void base_dropped(std::uint64_t label);

  /// Votes for the parts that were written. Does nothing before the number is taken.
  DISTRIB_DECL void vote(ExportActions& out);

  /// Returns what a cut of the step of the last plan keeps.
  [[nodiscard]] DISTRIB_DECL auto mark() const -> ExportMark;

  /// True while an answer to an action is missing.
  [[nodiscard]] auto is_busy() const noexcept -> bool { return phase_ != Phase::idle; }
  /// True if the number is taken: `plan` may export.
  [[nodiscard]] auto has_started() const noexcept -> bool { return epoch_ != 0; }
  /// The epoch of this process; 0 before the number is taken.
  [[nodiscard]] auto epoch() const noexcept -> std::uint64_t { return epoch_; }
  /// The newest position that is known.
  [[nodiscard]] auto position() const noexcept -> LogPosition { return view_.head.position; }
  /// The manifest of that position; empty if there is none.
  [[nodiscard]] auto newest() const noexcept -> const std::optional<LogManifest>& { return view_.manifest; }
  /// True if a part of this process is not known to be committed.
  [[nodiscard]] auto has_pending() const noexcept -> bool { return !pending_.empty() || !taken_.empty(); }
  /// True if such a part is written: a `poll` may commit it.
  [[nodiscard]] auto has_written() const noexcept -> bool { return !pending_.empty(); }

 private:
  enum class Phase : std::uint8_t { idle, reading_to_start, starting, reading, reading_votes, committing };

  /// A part of this process that is not known to be committed.
  struct Pending {
    LogVote vote;
    bool voted = false;
  };

  /// A part that is not written yet.
  struct Taken {
    std::uint64_t label = 0;
    bool counts = true;  // false: what follows is not counted from it
  };

  /// All rows at a label, which are written beside deltas.
  struct OwnBase {
    LogBase base;  // `of` is empty until the part is written, `name` until the base is written
    std::uint64_t last_label = 0;  // of the votes that carry it
    [[nodiscard]] auto is_complete() const noexcept -> bool { return !base.of.empty() && !base.name.empty(); }
  };

  /// True if changes are counted from a part: a written one, or one that will be.
  [[nodiscard]] auto has_base() const noexcept -> bool { return !base_.empty() || follows_taken(); }
  [[nodiscard]] auto follows_taken() const noexcept -> bool { return !taken_.empty() && taken_.back().counts; }

  DISTRIB_DECL void take_number(ExportActions& out);
  DISTRIB_DECL void continue_from_cut();
  DISTRIB_DECL void note_committed(ExportActions& out);
  DISTRIB_DECL void forget_base();
  DISTRIB_DECL void note_named_bases(ExportActions& out);
  DISTRIB_DECL void give_up_own_base();
  [[nodiscard]] DISTRIB_DECL auto wants_base(std::uint64_t number) const -> bool;
  // True if no position of this label can be committed any more.
  [[nodiscard]] DISTRIB_DECL auto is_decided(std::uint64_t label) const -> bool;
  DISTRIB_DECL void ask_for_votes(ExportActions& out);
  [[nodiscard]] DISTRIB_DECL auto may_commit(const LogVote& own) const -> bool;
  // True if all shards vote for the label of `own`, in the same state of the job.
  [[nodiscard]] DISTRIB_DECL auto all_vote(std::span<const std::optional<LogVote>> votes, const LogVote& own) const
      -> bool;
  // True if a part has all rows, or follows from what the newest position has of the shard.
  [[nodiscard]] DISTRIB_DECL auto follows_committed(const LogPart& part, std::size_t shard) const -> bool;
  [[nodiscard]] DISTRIB_DECL auto manifest_of(std::span<const std::optional<LogVote>> votes) const -> LogManifest;
  // What the newest position has of this shard; nullptr if it is of another number of shards.
  [[nodiscard]] DISTRIB_DECL auto committed_part() const -> const LogPart*;

  ExportRules rules_;
  std::uint64_t lineage_;
  std::string base_;  // the part relative to which changes are counted; empty: none
  std::vector<Pending> pending_;  // in the order of their labels, each on the one before it or full
  std::vector<Taken> taken_;  // in the order in which they are written
  std::optional<OwnBase> own_base_;  // the newest one, until a position names it
  std::vector<OwnBase> given_up_;  // written, and not removed yet
  std::uint64_t newest_full_ = 0;  // label of the newest part with all rows that this process has written
  std::uint64_t misses_ = 0;  // bases that were given up, less those that were named
  LogView view_;
  LogHead next_head_;  // that a swap is to write
  LogManifest next_manifest_;
  std::size_t candidate_ = 0;  // of `pending_`, whose votes are being read
  std::uint64_t epoch_ = 0;
  std::uint64_t planned_label_ = 0;
  // The first label that all vote for, and at which the own part follows from one that is not committed.
  std::uint64_t blocked_label_ = 0;
  bool looks_for_blocked_ = false;  // this poll has not found it yet
  bool is_blocked_ = false;  // it was found twice: parts have all rows until one is committed
  Phase phase_ = Phase::idle;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/export_core.ipp>
#endif
