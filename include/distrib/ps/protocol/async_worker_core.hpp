// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/rows_to_pull.hpp>
#include <distrib/ps/protocol/replay_buffer.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One worker of an asynchronous or stale-synchronous job: having finished its contribution t it pulls values, makes
/// t+1, sends it to all shards and keeps it until every shard has it in a cut. The rules are those of the protocol
/// ("Asynchronous and SSP rules"); how far ranks may be apart is the shards' business.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is told by a call of `out(action)`, in the
/// order to be performed in; `out` must not call the core. Threads: one at a time. The first start and every later one
/// are the same.
class AsyncWorkerCore {
 public:
  static constexpr bool is_synchronous = false;  ///< As `Consistency::is_synchronous` of its jobs.

  DISTRIB_DECL AsyncWorkerCore(const Job& job, Rank rank, WorkerOptions options = {});

  /// The last contribution made.
  [[nodiscard]] auto step() const noexcept -> Step { return t_.value_or(0); }

  void start(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendJoin{shard});
  }

  /// The connection to a shard was lost and is there again: what was on its way is unknown.
  void reconnected(std::uint32_t shard, auto& out) { out(SendJoin{shard}); }

  /// The answer to SendJoin, or to a push that left a gap: where this rank stands on the shard.
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    view.progress = std::move(progress);
    if (view.progress.no_values && buffer_.has(0)) push(shard, 0, out);
    if (!view.joined) {
      view.joined = true;
      if (!t_ && every_shard([](const ShardView& v) { return v.joined; })) begin(out);
    } else if (t_) {
      serve(shard, out);
      go_on(out);  // what is durable there may be what was waited for
    }
  }

  void notice(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }
  void pushed(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }

  void values(std::uint32_t shard, Step finished, SharedBuffer block, Progress progress, auto& out) {
    if (finished == asked() && !computing_ && rows_.fit(*t_ + 1, shard, block)) shards_[shard].got = std::move(block);
    learn(shard, std::move(progress), out);
  }

  /// The rows that the contribution of `step` needs, one a shard, as `Prepare` asked.
  void prepared(Step step, std::vector<WantedRows> rows, auto& out) {
    if (!t_ || done_ || step != *t_ + 1 || rows_.known_for(step)) return;  // overtaken
    rows_.know(step, std::move(rows));
    pull_all(out);
  }

  /// The contribution that `Compute` asked for: one block a shard; with tables also the rows that the next one needs.
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, auto& out, std::vector<WantedRows> next = {}) {
    if (!computing_ || ticket != ticket_) return;  // overtaken: a shard asked for one that was no longer kept
    computing_ = false;
    t_ = *t_ + 1;
    buffer_.drop_through(durable());
    buffer_.keep(*t_, std::move(blocks));
    rows_.know(*t_ + 1, std::move(next));
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) push(shard, *t_, out);
    if (stopping_) return leave(out);
    ask_to_save(out);
    ask(out);
  }

  /// Finish what is in flight, then leave: the job goes on another time.
  void stop(auto& out) {
    if (stopping_ || done_) return;
    stopping_ = true;
    if (!computing_) leave(out);
  }

  /// Every shard has all of this rank's contributions in a cut.
  [[nodiscard]] auto everything_saved() const -> bool { return durable() >= last_; }

 private:
  struct ShardView {
    Progress progress;  // done: this rank's contributions counted; cuts: the last one that is durable there
    bool joined = false;
    bool asked_to_save = false;  // since room became short
    SharedBuffer got;

    [[nodiscard]] auto durable() const -> Step { return progress.cuts.empty() ? 0 : progress.cuts.back(); }
  };

  // Whether all shards are like that.
  auto every_shard(auto is_like_that) const -> bool {
    for (const ShardView& view : shards_)
      if (!is_like_that(view)) return false;
    return true;
  }

  [[nodiscard]] auto durable() const -> Step {
    Step least = last_;
    for (const ShardView& view : shards_) least = std::min(least, view.durable());
    return least;
  }

  // Every shard has answered: go on after the smallest number counted; shards that are ahead drop the repeats (rule 4).
  void begin(auto& out) {
    t_ = shards_.front().progress.done;
    for (const ShardView& view : shards_) t_ = std::min(*t_, view.progress.done);
    ask(out);
    go_on(out);
  }

  // Once each time that room becomes short, because what is on its way when a cut becomes durable is asking for another
  // one; and with each contribution that may be the last, or while the shard says that its cuts find no room.
  void ask_to_save(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
      ShardView& view = shards_[shard];
      const bool asked = std::exchange(view.asked_to_save, buffer_.filling());
      if (view.asked_to_save && (!asked || buffer_.full() || view.progress.no_room)) out(SendSave{shard});
    }
  }

  void push(std::uint32_t shard, Step step, auto& out) {
    out(SendPush{shard, {step, rank_, buffer_.block(step, shard), 0, durable()}});
  }

  // What is pulled: values for the next contribution; after the last one nothing, or the values at the end.
  [[nodiscard]] auto asked() const -> std::optional<Step> {
    if (t_ && *t_ >= last_) return wants_result_ ? std::optional{end_of_job} : std::nullopt;
    return t_;
  }

  void ask(auto& out) {
    for (ShardView& view : shards_) view.got = nullptr;
    if (!asked()) return;
    if (!rows_.known_for(*t_ + 1)) return out(Prepare{*t_ + 1});
    pull_all(out);
  }

  // Not before it is known which rows are wanted.
  void pull(std::uint32_t shard, auto& out) const {
    if (rows_.known_for(*t_ + 1)) out(SendPull{shard, *asked(), rows_.of(shard)});
  }
  void pull_all(auto& out) const {
    for (std::uint32_t shard = 0; shard < shards_.size() && asked(); ++shard) pull(shard, out);
  }

  // A shard says where this rank stands: send what follows, or make it again when it is no longer kept (rule 5).
  void serve(std::uint32_t shard, auto& out) {
    const Step counted = shards_[shard].progress.done;
    for (Step step = counted + 1; step <= *t_; ++step)
      if (!buffer_.has(step)) {
        t_ = counted;
        computing_ = false;
        ++ticket_;
        buffer_.clear();
        if (stopping_) return leave(out);  // what was in flight is overtaken
        return ask(out);
      }
    for (Step step = counted + 1; step <= *t_; ++step) push(shard, step, out);
    if (*t_ >= last_) shards_[shard].got = nullptr;  // it may have lost what others made of it
    if (*t_ >= last_ || buffer_.filling()) out(SendSave{shard});  // what was asked before is forgotten
    if (asked() && shards_[shard].got == nullptr) pull(shard, out);
  }

  void learn(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    const Step before = view.durable();
    view.progress = std::move(progress);
    go_on(out);
    const bool has_part = before < view.durable() && view.durable() < step();
    if (has_part && !computing_ && !done_ && buffer_.full()) out(SendSave{shard});  // for which the shard took this cut
  }

  void go_on(auto& out) {
    if (!t_ || computing_ || done_ || stopping_) return;
    if (*t_ >= last_) {
      if (!everything_saved() || (wants_result_ && !has_all())) return;
      WorkerDone ended;
      for (ShardView& view : shards_)
        if (wants_result_) ended.result.push_back(std::move(view.got));
      done_ = true;
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendGoodbye{shard});
      return out(std::move(ended));
    }
    if (!has_all()) return;
    buffer_.drop_through(durable());
    if (buffer_.full()) {
      if (every_shard([](const ShardView& v) { return !v.progress.no_room; }))
        return;  // rule 3: until a cut is durable everywhere
      buffer_.make_room();  // which is not to be: a shard that is lost has them made again
    }
    computing_ = true;
    Compute work{*t_ + 1, ++ticket_, {}};
    for (const ShardView& view : shards_) work.values.push_back(view.got);
    out(std::move(work));
  }

  [[nodiscard]] auto has_all() const -> bool {
    return every_shard([](const ShardView& v) { return v.got != nullptr; });
  }

  void leave(auto& out) {
    done_ = true;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendLeave{shard});
    out(WorkerDone{.left = true});
  }

  Rank rank_;
  Step last_;
  std::vector<ShardView> shards_;
  ReplayBuffer buffer_;
  bool wants_result_;
  detail::RowsToPull rows_;  // for the contribution after t
  std::optional<Step> t_;
  bool computing_ = false;
  std::uint64_t ticket_ = 0;
  bool stopping_ = false;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/async_worker_core.ipp>
#endif
