// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/tf/conditional_accumulator.hpp>
#include <distrib/tf/sync_replicas_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Enough gradients have come: the real optimizer is to be applied once.
struct ApplyUpdate {
  Step step = 0;  ///< The global step that this update makes; the first is one above that of the beginning.
  std::uint64_t count = 0;  ///< Of how many gradients the means are.
  std::span<const std::span<const float>> gradients;  ///< The mean for each variable; valid during the call.
};

/// A worker's barrier opens: its local step is `step` from now on.
struct TokenGiven {
  Rank worker = 0;
  Step step = 0;
};

/// What TensorFlow's SyncReplicasOptimizer does, without its graph: accumulators, queue of tokens, steps. For whoever
/// ports a program that used it and wants to know what it did. Training here uses `BulkSynchronousParallel`, which
/// repeats its bits unless it is given backup workers of its own (`replicas_to_aggregate`).
///
/// The chief calls `set_variables` and `begin`. A worker's step: compute; `apply` its gradients, which count unless its
/// local step is below the global one; `take_token`, and wait for `TokenGiven`. R counted gradients make an
/// `ApplyUpdate`, then as many tokens as `tokens_per_step` with the new global step.
///
/// - The first tokens carry the old step, so after the first update each worker computes once in vain.
/// - Tokens belong to nobody: a worker may take two of a step and another none.
/// - Gradients are averaged over all that are counted. The global step counts updates.
///
/// Gradients are dense. Variables without a gradient are not named; gradients of a worker come whole (in TensorFlow
/// those of different variables might be of different workers). Events in, actions out: `out(ApplyUpdate)`,
/// `out(TokenGiven)`; `out` must not call this. Threads: one at a time. Memory: one gradient, a step for each worker
/// that speaks.
class SyncReplicas {
 public:
  explicit SyncReplicas(SyncReplicasPlan plan) : plan_{plan} {}

  /// TensorFlow's `apply_gradients`: how many elements each variable has, and the step to start from. Fails with
  /// `ps_errc::not_positive` (the plan), `no_variables`, `no_global_step`.
  DISTRIB_DECL void set_variables(std::vector<std::size_t> elements, std::optional<Step> global_step,
                                  std::error_code& ec);
  void set_variables(std::vector<std::size_t> elements, std::optional<Step> global_step) {
    std::error_code ec;
    set_variables(std::move(elements), global_step, ec);
    if (ec) throw_error(ec, plan_.describe());
  }

  /// What the chief's hook does: every step becomes the global step, the queue gets its first tokens (R unless told).
  /// Called again, as by a chief that comes back: gradients, tokens and who waits for one are forgotten, the global
  /// step stays. Fails with `ps_errc::not_begun` before `set_variables`, and with `ps_errc::too_few_tokens`.
  DISTRIB_DECL void begin(std::optional<std::int64_t> num_tokens, std::error_code& ec);
  void begin(std::optional<std::int64_t> num_tokens = {}) {
    std::error_code ec;
    begin(num_tokens, ec);
    if (ec) throw_error(ec, "SyncReplicas::begin: " + plan_.describe());
  }

  /// A worker's gradients, one for each variable. True: they count. False: they are stale. Fails with
  /// `ps_errc::not_begun`, `unknown_rank` (no worker below N), `shape_mismatch`, and then nothing counts.
  auto apply(Rank worker, std::span<const std::span<const float>> gradients, auto& out, std::error_code& ec) -> bool {
    check(worker, ec);
    if (!ec && gradients.size() != elements_.size()) ec = ps_errc::shape_mismatch;
    for (std::size_t i = 0; !ec && i < elements_.size(); ++i)
      if (gradients[i].size() != elements_[i]) ec = ps_errc::shape_mismatch;
    if (ec) return false;
    bool counts = false;
    std::uint64_t complete = 0;  // how many gradients the means are of
    auto taken = [&](const GradientTaken& mean) {
      means_[mean.take] = mean.values;
      complete = mean.count;
    };
    for (std::size_t i = 0; i < elements_.size(); ++i)
      counts = accumulators_[i].apply(local_step(worker), gradients[i], taken);
    if (complete != 0) update(complete, out);
    return counts;
  }
  auto apply(Rank worker, std::span<const std::span<const float>> gradients, auto& out) -> bool {
    std::error_code ec;
    const bool counts = apply(worker, gradients, out, ec);
    if (ec) throw_error(ec, "SyncReplicas::apply by worker " + std::to_string(worker));
    return counts;
  }

  /// The barrier: `TokenGiven` now, or once there is a token; workers are served in the order in which they came. Fails
  /// with `ps_errc::not_begun`, `ps_errc::unknown_rank`.
  void take_token(Rank worker, auto& out, std::error_code& ec) {
    check(worker, ec);
    if (ec) return;
    waiting_.push_back(worker);
    give_tokens(out);
  }
  void take_token(Rank worker, auto& out) {
    std::error_code ec;
    take_token(worker, out, ec);
    if (ec) throw_error(ec, "SyncReplicas::take_token by worker " + std::to_string(worker));
  }

  [[nodiscard]] auto global_step() const noexcept -> Step { return global_step_; }
  /// The step that a worker's gradients are said to be of: that of its last token.
  [[nodiscard]] auto local_step(Rank worker) const -> Step {
    const auto found = local_steps_.find(worker);
    return found == local_steps_.end() ? first_step_ : found->second;
  }
  /// How many times a worker's gradients were stale.
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t {
    return accumulators_.empty() ? 0 : accumulators_.front().dropped();
  }
  /// How many workers wait for a token.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return waiting_.size(); }

 private:
  struct Tokens {
    Step step;
    std::int64_t number;
  };

  void check(Rank worker, std::error_code& ec) const noexcept {
    ec.clear();
    if (accumulators_.empty()) ec = ps_errc::not_begun;
    else if (worker >= plan_.workers()) ec = ps_errc::unknown_rank;
  }

  void add_tokens(std::int64_t number) {
    if (number != 0) tokens_.push_back({global_step_, number});
  }

  void give_tokens(auto& out) {
    while (!waiting_.empty() && !tokens_.empty()) {
      const TokenGiven given{waiting_.front(), tokens_.front().step};
      waiting_.pop_front();
      if (--tokens_.front().number == 0) tokens_.pop_front();
      local_steps_[given.worker] = given.step;
      out(given);
    }
  }

  // The chief's takes, by number of the variable. Never complete at once: nothing is counted yet.
  void ask_for_means() {
    auto nothing = [](const GradientTaken&) {};
    for (std::size_t i = 0; i < accumulators_.size(); ++i)
      accumulators_[i].take(i, plan_.replicas_to_aggregate, nothing);
  }

  void update(std::uint64_t count, auto& out) {
    ++global_step_;
    out(ApplyUpdate{global_step_, count, means_});
    ask_for_means();
    add_tokens(plan_.tokens_per_step());
    give_tokens(out);
  }

  SyncReplicasPlan plan_;
  std::vector<std::size_t> elements_;
  Step global_step_ = 0;
  Step first_step_ = 0;
  std::vector<ConditionalAccumulator> accumulators_;
  std::vector<std::span<const float>> means_;
  std::map<Rank, Step> local_steps_;  // of those who got a token
  std::deque<Rank> waiting_;
  std::deque<Tokens> tokens_;  // first in, first out; equal ones counted, not kept
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/sync_replicas.ipp>
#endif
