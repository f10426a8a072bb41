// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/step.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// The actions of an onlooker's core: what its shell must do after an event, in the order of the calls.

/// Ask a shard for values.
struct AskLook {
  std::uint32_t shard = 0;
  Step step = 0;  ///< `end_of_job`: the values at the end.
  bool newest = false;  ///< Ask for the step that the shard is at; `step` is not used then.
};
/// No answer to an earlier `AskLook` is needed any more: cancel these calls, and report no answer of theirs.
struct DropLooks {};
/// Ask a shard to say when the job is done. The call lasts as long as the connection; `DropLooks` leaves it alone.
struct AskEnd {
  std::uint32_t shard = 0;
};
/// The job is done, and no look can be completed any more. Nothing follows.
struct JobDone {};
/// The look is complete: there are values of every shard.
struct LookedAt {
  /// Synchronous: the step of these values. Asynchronous: the least number of contributions in the values of a shard.
  Step step = 0;
  /// True: a worker of the job sees exactly these values. False, in an asynchronous job: each shard answered at once,
  /// and there is no step that they have in common.
  bool is_one_step = true;
  bool is_last = false;  ///< The job makes no later values.
  std::vector<SharedBuffer> blocks = {};  ///< One block for each shard, as a pull answers them.
};
/// The shards were beyond each step that was asked for, `LookCore::most_rounds` times. The look is given up.
struct CannotKeepUp {
  Step step = 0;  ///< The newest step that a shard has reported.
};

/// Looks at the values of a running job, without being one of its ranks. In a synchronous job all values are of one
/// step and of one history: asks the first shard for its newest values, and the others for the step of that answer. If
/// one of them does not have these values any more, asks all shards for a step that is not made yet, so that each can
/// answer when it makes that step; each further time for one that is further ahead. In an asynchronous job each shard
/// answers at once.
///
/// If a connection is lost, the look begins again when all shards can be reached.
///
/// Each shard that can be reached is asked to say when the job is done, whether there is a look or not. A shard is done
/// when all workers are, so the word of one of them is enough.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core.
///
/// Threads: one at a time.
class LookCore {
 public:
  /// How often a look asks anew because a shard was beyond the step.
  static constexpr unsigned most_rounds = 8;

  explicit LookCore(const Job& job)
      : is_synchronous_{job.consistency.is_synchronous()},
        last_step_{job.total_steps},
        here_(job.shards()),
        blocks_(job.shards()) {}

  /// Looks at the newest values; gives up a look that is not complete. `LookedAt` or `CannotKeepUp` follows.
  void look(auto& out) { want(Wants::newest, out); }
  /// Looks at the values at the end of the job, as soon as there are such values; gives up a look that is not complete.
  void look_at_end(auto& out) { want(Wants::last, out); }
  /// Gives up a look that is not complete.
  void give_up(auto& out) {
    drop(out);
    wants_ = Wants::nothing;
  }

  /// A shard can be asked.
  void connected(std::uint32_t shard, auto& out) {
    here_[shard] = true;
    if (is_done_) return;
    out(AskEnd{shard});
    begin(out);
  }
  /// A shard cannot be asked any more; its calls are over.
  void disconnected(std::uint32_t shard, auto& out) {
    here_[shard] = false;
    if (is_done_) return finish(out);
    drop(out);
  }

  /// A shard has said that the job is done: it answers no other call any more. A look to which it has answered is
  /// completed by the others, if they can; then, or at once, `JobDone` follows.
  void done(std::uint32_t shard, auto& out) {
    is_done_ = true;
    if (!is_asking_ || blocks_[shard] == nullptr) finish(out);
  }

  /// A shard has answered with values; `block` may be null if it is empty. `counted` and `history`: see `ValuesReply`
  /// and `Progress`.
  void values(std::uint32_t shard, Step counted, std::uint64_t history, SharedBuffer block, auto& out) {
    if (!is_asking_ || blocks_[shard] != nullptr) return;
    const bool is_first = missing_ == blocks_.size();
    if (is_first) history_ = history;
    if (is_synchronous_) {
      const bool names_step = !step_;
      if (names_step || (is_first && wants_ == Wants::last)) step_ = counted;
      if (counted != *step_ || history != history_) return ask_anew(std::max(counted, *step_), out);
      for (std::uint32_t other = 0; names_step && other < blocks_.size(); ++other)
        if (other != shard) out(AskLook{other, counted});
    } else {
      least_ = is_first ? counted : std::min(least_, counted);
    }
    blocks_[shard] = block != nullptr ? std::move(block) : std::make_shared<AlignedBuffer>();
    if (--missing_ != 0) return;
    is_asking_ = false;
    const Step step = is_synchronous_ ? *step_ : least_;
    const bool is_last =
        std::exchange(wants_, Wants::nothing) == Wants::last || (is_synchronous_ && step == last_step_);
    out(LookedAt{step, is_synchronous_, is_last, std::exchange(blocks_, std::vector<SharedBuffer>(here_.size()))});
    if (is_done_) finish(out);
  }

  /// A shard has answered that it no longer has the values of the step: it is at step `done`.
  void gone(Step done, auto& out) {
    if (is_asking_) ask_anew(done, out);
  }

 private:
  enum class Wants : std::uint8_t { nothing, newest, last };

  void want(Wants what, auto& out) {
    if (is_done_) return;  // the look that is not complete is the last one
    drop(out);
    wants_ = what;
    begin(out);
  }

  void drop(auto& out) {
    if (!std::exchange(is_asking_, false)) return;
    out(DropLooks{});
    forget();
  }
  void forget() {
    std::fill(blocks_.begin(), blocks_.end(), nullptr);
    missing_ = blocks_.size();
    step_.reset();
  }

  void finish(auto& out) {
    drop(out);
    wants_ = Wants::nothing;
    if (!std::exchange(is_over_, true)) out(JobDone{});
  }

  void begin(auto& out) {
    if (wants_ == Wants::nothing || is_asking_ || std::find(here_.begin(), here_.end(), false) != here_.end()) return;
    is_asking_ = true;
    rounds_ = 0;
    forget();
    if (wants_ == Wants::last) return ask_all(end_of_job, out);
    if (is_synchronous_) return out(AskLook{0, 0, true});
    for (std::uint32_t shard = 0; shard < blocks_.size(); ++shard) out(AskLook{shard, 0, true});
  }

  void ask_all(Step step, auto& out) {
    step_ = step;
    for (std::uint32_t shard = 0; shard < blocks_.size(); ++shard) out(AskLook{shard, step});
  }

  // The shards do not have one step: asks for one that is not made yet.
  void ask_anew(Step done, auto& out) {
    if (is_done_) return finish(out);
    out(DropLooks{});
    forget();
    if (++rounds_ == most_rounds) {
      is_asking_ = false;
      wants_ = Wants::nothing;
      return out(CannotKeepUp{done});
    }
    if (wants_ == Wants::last) return ask_all(end_of_job, out);
    const Step ahead = Step{1} << (rounds_ - 1);
    ask_all(last_step_ - std::min(last_step_, done) < ahead ? last_step_ : done + ahead, out);
  }

  bool is_synchronous_;
  Step last_step_;
  Wants wants_ = Wants::nothing;
  bool is_asking_ = false;  // shards have calls, or have answered
  bool is_done_ = false;  // a shard has said that the job is done
  bool is_over_ = false;  // `JobDone` was told
  unsigned rounds_ = 0;  // how often this look has asked anew
  std::optional<Step> step_;  // that is asked for; empty: the first shard names it
  std::uint64_t history_ = 0;  // of the answers
  Step least_ = 0;  // asynchronous: the least number of contributions
  std::vector<bool> here_;  // for each shard: it can be asked
  std::vector<SharedBuffer> blocks_;  // of the shards that have answered
  std::size_t missing_ = 0;  // how many have not
};

}  // namespace v0
}  // namespace distrib
