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

/// Action: enough gradients have arrived; apply the real optimizer once.
struct ApplyUpdate {
  /// The global step after this update. The first update's is one above the step that training starts from.
  Step step = 0;
  std::uint64_t count = 0;  ///< Number of gradients in each mean.
  std::span<const std::span<const float>> gradients;  ///< The mean for each variable. Valid during the call.
};

/// Action: a worker passes its barrier; from now on its local step is `step`.
struct TokenGiven {
  Rank worker = 0;  ///< Number of the worker, from 0.
  Step step = 0;  ///< The new local step of the worker.
};

/// What TensorFlow's SyncReplicasOptimizer does, without its graph: accumulators, a queue of tokens, steps. R and N are
/// the numbers of its `SyncReplicasPlan`: R gradients make an update, and there are N workers. It is for users who port
/// a program with that optimizer and want to know what the program did. Training with this library uses
/// `BulkSynchronousParallel` instead, which repeats its bits unless it has backup workers (`replicas_to_aggregate`).
///
/// The chief calls `set_variables` and `begin`. In each step a worker computes gradients; calls `apply`, where they
/// count unless the worker's local step is below the global step; calls `take_token`, and waits for `TokenGiven`. R
/// counted gradients make an `ApplyUpdate`, then max(N, R) tokens with the new global step
/// (`SyncReplicasPlan::tokens_per_step`).
///
/// - The first tokens carry the old step, so after the first update each worker computes one step for nothing.
/// - Tokens are not reserved for workers: one worker may take two tokens of a step, and another none.
/// - Gradients are averaged over all that are counted. The global step counts updates.
///
/// Gradients are dense. Variables without a gradient are not listed. The gradients of a worker count together (in
/// TensorFlow an update may have gradients of different workers for different variables). Actions are reported by calls
/// of `out(ApplyUpdate)` and `out(TokenGiven)` inside the event that causes them; `out` must not call this object.
/// Memory: one gradient, and a step for each worker that has taken a token.
///
/// Threads: one at a time.
class SyncReplicas {
 public:
  /// Keeps the plan; `begin` checks it.
  explicit SyncReplicas(SyncReplicasPlan plan) : plan_{plan} {}

  /// TensorFlow's `apply_gradients`: sets the number of elements of each variable, and the step to start from. Call
  /// `begin` afterwards.
  ///
  /// Errors: `ps_errc::not_positive` if R or N is below 1; `no_variables` if `elements` is empty; `no_global_step` if
  /// `global_step` is empty. Nothing has changed then.
  DISTRIB_DECL void set_variables(std::vector<std::size_t> elements, std::optional<Step> global_step,
                                  std::error_code& ec);
  /// This overload throws the error as `std::system_error`.
  void set_variables(std::vector<std::size_t> elements, std::optional<Step> global_step) {
    std::error_code ec;
    set_variables(std::move(elements), global_step, ec);
    if (ec) throw_error(ec, plan_.describe());
  }

  /// Does what the chief's hook does: sets all steps to the global step, and puts the first tokens into the queue:
  /// `num_tokens`, or R if it is empty. May be called again, as by a chief that was restarted: drops gradients and
  /// tokens, and forgets the workers that wait, which must call `take_token` again; the global step stays.
  ///
  /// Errors: `ps_errc::not_begun` if `set_variables` was not called before; `not_positive` if R or N is below 1;
  /// `too_few_tokens` if `num_tokens` is below max(0, R - N), with which the workers cannot finish the first step.
  /// Nothing has changed then.
  DISTRIB_DECL void begin(std::optional<std::int64_t> num_tokens, std::error_code& ec);
  /// This overload throws the error as `std::system_error`.
  void begin(std::optional<std::int64_t> num_tokens = {}) {
    std::error_code ec;
    begin(num_tokens, ec);
    if (ec) throw_error(ec, "SyncReplicas::begin: " + plan_.describe());
  }

  /// Takes a worker's gradients, one for each variable. Returns true if they count, false if they are stale.
  ///
  /// Errors: `ps_errc::not_begun` before `begin`; `unknown_rank` if `worker` is not below N; `shape_mismatch` if there
  /// is not one gradient for each variable, with its number of elements. Nothing counts then.
  auto apply(Rank worker, std::span<const std::span<const float>> gradients, auto& out, std::error_code& ec) -> bool {
    check(worker, ec);
    if (!ec && gradients.size() != elements_.size()) ec = ps_errc::shape_mismatch;
    for (std::size_t i = 0; !ec && i < elements_.size(); ++i)
      if (gradients[i].size() != elements_[i]) ec = ps_errc::shape_mismatch;
    if (ec) return false;
    bool counts = false;
    std::uint64_t complete = 0;  // number of gradients in the means; 0: the update is not complete
    auto taken = [&](const GradientTaken& mean) {
      means_[mean.take] = mean.values;
      complete = mean.count;
    };
    for (std::size_t i = 0; i < elements_.size(); ++i)
      counts = accumulators_[i].apply(local_step(worker), gradients[i], taken);
    if (complete != 0) update(complete, out);
    return counts;
  }
  /// This overload throws the error as `std::system_error`.
  auto apply(Rank worker, std::span<const std::span<const float>> gradients, auto& out) -> bool {
    std::error_code ec;
    const bool counts = apply(worker, gradients, out, ec);
    if (ec) throw_error(ec, "SyncReplicas::apply by worker " + std::to_string(worker));
    return counts;
  }

  /// The barrier: reports `TokenGiven` now, or when there is a token; workers are served in the order of their calls.
  ///
  /// Errors: `ps_errc::not_begun` before `begin`; `unknown_rank` if `worker` is not below N.
  void take_token(Rank worker, auto& out, std::error_code& ec) {
    check(worker, ec);
    if (ec) return;
    waiting_.push_back(worker);
    give_tokens(out);
  }
  /// This overload throws the error as `std::system_error`.
  void take_token(Rank worker, auto& out) {
    std::error_code ec;
    take_token(worker, out, ec);
    if (ec) throw_error(ec, "SyncReplicas::take_token by worker " + std::to_string(worker));
  }

  /// Returns the step of the last update; before the first update the step that was passed to `set_variables`, and 0 if
  /// that was not called.
  [[nodiscard]] auto global_step() const noexcept -> Step { return global_step_; }
  /// The step that a worker's gradients count for: the step of its last token; before that, and for a worker that does
  /// not exist, the step at `begin`.
  [[nodiscard]] auto local_step(Rank worker) const -> Step {
    const auto found = local_steps_.find(worker);
    return found == local_steps_.end() ? first_step_ : found->second;
  }
  /// How many times `apply` has dropped stale gradients, of any worker, since `begin`.
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t {
    return accumulators_.empty() ? 0 : accumulators_.front().dropped();
  }
  /// Number of calls of `take_token` that wait for a token.
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

  // The chief's takes; the id is the number of the variable. None is complete at once: no gradient is counted yet.
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
  std::map<Rank, Step> local_steps_;  // of workers that have got a token
  std::deque<Rank> waiting_;
  std::deque<Tokens> tokens_;  // first in, first out; equal tokens are one entry with a number
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/sync_replicas.ipp>
#endif
