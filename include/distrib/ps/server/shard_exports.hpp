// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/export_log/export_core.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/export_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/server/export_part.hpp>
#include <distrib/ps/server/perform_export.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What a shard has exported. A value.
struct ExportStatus {
  LogPosition position = 0;  ///< The newest position of the log that is known; 0: none.
  Step step = 0;  ///< The step of that position.
  Step taken = 0;  ///< The newest step that this shard has exported, or is writing.
  RowDigest digest;  ///< Of all that this shard had at step `taken`, see `ExportPartWriter::state`.
  std::uint64_t left_out = 0;  ///< Exports that were left out because the disk was slower than the steps.
  std::uint64_t failures = 0;  ///< Work that failed, and is tried again.
};

/// Exports a shard of a synchronous job while it is trained: copies at each step that is due what has changed, and
/// asks its shell to write it (`perform_export`). `ExportCore` decides.
///
/// The shell calls `next` and `next_beside` after each event, does each piece of work on a thread of its own, and
/// calls `performed`. Each of the two has one piece under way at a time. `next`: parts, votes and commits, in which
/// positions come to be. `next_beside`: what no position waits for, bases and what removes old positions. Votes and
/// commits go before parts, which may be large: so when a part is written, all that it lets the log commit is
/// committed before the next part is written. What fails is tried again after a pause, first a part whose rows are
/// copied already; a base is dropped. Memory: `most_waiting` parts, or `most_small` that have no more bytes than the
/// rows of the shard twice; that of the last step, which is never left out and has all rows; and one base, or two
/// while a base is being written that has become useless.
///
/// Events in, work out; no clock, no I/O, no thread. Threads: one at a time, the thread of the store.
class ShardExports final : public StoreObserver {
 public:
  /// How often a shard looks for what the other shards have voted for.
  static constexpr std::chrono::milliseconds poll_every{200};
  /// Pause after a failure.
  static constexpr std::chrono::milliseconds pause{1000};
  /// How long a shard whose job is done waits for its last export.
  static constexpr std::chrono::milliseconds last_patience{30'000};
  /// Parts that are copied and not written yet. While there are so many, a step that is due is left out, unless they
  /// are small: a part with all rows takes as long as many deltas, and these must not be left out while it is written.
  static constexpr std::size_t most_waiting = 4;
  /// Parts that may wait as long as they have less than twice the bytes of a part with all rows.
  static constexpr std::size_t most_small = 16;

  /// `new_log`: a random number that names the log, if this shard begins it.
  DISTRIB_DECL ShardExports(const Job& job, std::uint32_t shard, ExportSettings settings, std::uint64_t new_log);

  /// The shard starts with `store`, which is at `step`; `made`: the lineage of that state.
  DISTRIB_DECL void opened(ShardStore& store, Step step, const Lineage& made);

  /// The chief names a step to be exported: its `number`-th, from 1. Ignored if the step is done.
  DISTRIB_DECL void name(Step step, std::uint64_t number);

  DISTRIB_DECL void applied(std::uint64_t count, ShardStore& store) override;
  DISTRIB_DECL void loaded(const Cut& cut, ShardStore& store) override;

  /// Returns the next piece of work; empty: there is none now.
  [[nodiscard]] DISTRIB_DECL auto next(Instant now) -> std::optional<ExportWork>;
  /// Returns the next piece of work beside that; empty: there is none now.
  [[nodiscard]] DISTRIB_DECL auto next_beside() -> std::optional<ExportWork>;
  /// The work that `next` or `next_beside` returned is done, or has failed.
  DISTRIB_DECL void performed(ExportWork work, Instant now);

  /// Returns when `next` may have work without another event; empty: not before one.
  [[nodiscard]] DISTRIB_DECL auto wake() const -> std::optional<Instant>;

  /// The job is done. Returns true if the shard may end: its last export is written and nothing is under way, or it has
  /// waited for `last_patience` since the first call.
  [[nodiscard]] DISTRIB_DECL auto may_end(Instant now) -> bool;
  /// Returns true if something that should be in the log is not written yet, or not known to be.
  [[nodiscard]] DISTRIB_DECL auto has_work() const -> bool;

  [[nodiscard]] auto settings() const noexcept -> const ExportSettings& { return settings_; }
  /// Writes the parts. May be used on another thread, also after the end of this object.
  [[nodiscard]] auto writer() const noexcept -> const std::shared_ptr<const ExportPartWriter>& { return writer_; }
  [[nodiscard]] DISTRIB_DECL auto status() const -> ExportStatus;
  /// Returns the last failure, once.
  [[nodiscard]] auto take_failure() -> Error { return std::exchange(failure_, Error{}); }

 private:
  DISTRIB_DECL void begin(ShardStore& store, Step step, const Lineage& made);
  [[nodiscard]] DISTRIB_DECL auto number_of(Step step) const -> std::uint64_t;
  [[nodiscard]] DISTRIB_DECL auto leaves_out(Step step, std::uint64_t number, const ShardStore& store) -> bool;
  DISTRIB_DECL void take_base(const TakenPart& part, ShardStore& store);
  DISTRIB_DECL void performed_beside(ExportWork work);
  DISTRIB_DECL void consider(Step step, ShardStore& store);
  DISTRIB_DECL void started();
  DISTRIB_DECL void export_last();
  DISTRIB_DECL void answer(const ExportAction& action, ExportWork& work, ExportActions& out);
  DISTRIB_DECL void part_written(const TakenPart& part, ExportWork& work);
  DISTRIB_DECL void failed(ExportWork work, Instant now);
  DISTRIB_DECL void take(ExportActions& actions);
  [[nodiscard]] DISTRIB_DECL auto may_poll(Instant now) const -> bool;
  // Something has come further: looks again before the next part.
  void poll_soon() noexcept {
    wants_poll_ = true;
    part_is_next_ = false;
  }
  [[nodiscard]] DISTRIB_DECL auto state_of(ShardStore& store) const -> RowDigest;
  [[nodiscard]] DISTRIB_DECL static auto bytes_of_all_rows(const ShardStore& store) -> std::uint64_t;

  ExportSettings settings_;
  Step total_steps_;
  Sha256Digest job_settings_;
  ExportRules rules_;
  std::shared_ptr<const ExportPartWriter> writer_;
  std::optional<ExportCore> core_;
  ShardStore* store_ = nullptr;
  std::uint64_t run_ = 0;  // number of `core_`
  std::uint64_t lineage_ = 0;
  Step begun_at_ = 0;  // the step at which this run began
  RowDigest begun_state_;
  bool is_begun_ = false;  // the log was compared with the state of that step
  Step step_ = 0;
  std::map<Step, std::uint64_t> named_;  // steps that the chief named, with the numbers of their exports
  std::deque<ExportWork> queue_;  // actions, then parts
  std::deque<ExportWork> beside_;  // a base, and what removes old positions
  std::size_t waiting_ = 0;  // parts in the queue or under way
  std::uint64_t waiting_bytes_ = 0;  // of these parts
  bool is_under_way_ = false;
  bool is_under_way_beside_ = false;
  bool wants_poll_ = false;
  bool part_is_next_ = false;  // of the queue: the log was looked at since the last part, or something has failed
  bool is_behind_ = false;  // a step was left out
  std::string last_written_;  // name of the newest part of this run
  Instant not_before_{};  // after a failure
  std::optional<Instant> poll_at_;
  std::optional<Instant> ends_at_;  // the job is done
  Error failure_;
  ExportStatus status_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/shard_exports.ipp>
#endif
