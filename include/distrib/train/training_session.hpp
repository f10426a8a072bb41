// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/step.hpp>
#include <distrib/train/detail/session_model.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/session_loop.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

template <class F, class M>
concept StepOfBatch =
    requires(F& step, const Batch<typename SessionExample<M>::Type>& batch, const Values<typename M::Variables>& values,
             Gradients<typename M::Variables>& gradients, StepContext context) {
      { step(batch, values, gradients, context) } -> std::convertible_to<float>;
    };
template <class F, class M>
concept StepOfOwnBatch = requires(F& step, const Values<typename M::Variables>& values,
                                  Gradients<typename M::Variables>& gradients, StepContext context) {
  { step(values, gradients, context) } -> std::convertible_to<float>;
};

}  // namespace detail

/// A training whose loop belongs to the program, as TensorFlow's MonitoredTrainingSession:
///
///     auto session = distrib::session(model)....open(pool, flags);
///     while (!session.should_stop()) session.run(step);
///     return session.close();
///
/// It pulls the values, `run` calls the step with them, and it pushes the gradients that the step has written: exactly
/// what a trainer does with a model, through the same code, so the bits are the same. Made by
/// `session(model)....open()`. In a process that is a parameter server, an evaluator or an onlooker, the first `should_stop()` does
/// that work and returns true when it is over, so the same program serves for all roles.
///
/// Each step counts once. If a failure loses a contribution, `run` is called for the same step (`StepContext::step`)
/// again, so the step must write the same gradients again; shards compare where they can, and report
/// `ps_errc::not_repeatable` if it has not. With `OwnBatches` no contribution is ever made again, and the job ends
/// instead.
///
/// `M`: the model. `own`: its batches are the program's own, see `OwnBatches`.
///
/// Threads: one at a time. Hooks are called inside `should_stop`, `run` and `close`. SIGINT and SIGTERM are handled
/// from
/// `open` to the end, and noticed by `should_stop`: so only one session or trainer may exist at a time. Lifetime: the
/// pool must outlive it. If it is destroyed without `close`, it ends like a process that died: without telling hooks,
/// and other tasks wait for this one.
template <class M, bool own>
class TrainingSession {
 public:
  using Variables = typename M::Variables;

  /// For `TrainerBuilder::open`. `state`: that of the model of the loop.
  TrainingSession(std::shared_ptr<detail::SessionState<M>> state, std::unique_ptr<SessionLoop> loop)
      : state_{std::move(state)}, loop_{std::move(loop)} {}

  /// Waits until there is something to do. Returns false if a contribution is to be made: then call `run`. Returns true
  /// when the session is over: the job is done, a hook, `request_stop` or a signal has asked it to stop, a task is lost
  /// permanently, or an error has occurred; `close` says which. Throws nothing.
  [[nodiscard]] auto should_stop() -> bool { return loop_->should_stop(); }

  /// Makes one contribution: calls `step(batch, values, gradients, context) -> float`, which adds to the gradients,
  /// zero at the start, and returns the loss. With `OwnBatches`: `step(values, gradients, context)`. `batch` is the
  /// batch of (step, rank) of the data; with gradient accumulation, `step` is called for each batch of the
  /// contribution. Returns the loss. In one process with several workers each call makes the contribution of one worker
  /// (`StepContext::rank`); the workers take turns.
  ///
  /// Errors: throws `train_errc::session_over` if the session is over, `train_errc::not_ready` as
  /// `SessionOptions::ready` says, what `step` throws, and what the data and the hooks throw. Then the session is over.
  template <class F>
  auto run(F&& step) -> float {
    constexpr bool fits = own ? detail::StepOfOwnBatch<F, M> : detail::StepOfBatch<F, M>;
    static_assert(
        fits || own,
        "distrib: run() of a session takes a function that can be called as step(const distrib::Batch<Example>&, "
        "const distrib::Values<Variables>&, distrib::Gradients<Variables>&, distrib::StepContext) and returns "
        "the loss, a float");
    static_assert(fits || !own,
                  "distrib: run() of a session with OwnBatches takes a function that can be called as step(const "
                  "distrib::Values<Variables>&, distrib::Gradients<Variables>&, distrib::StepContext) and returns the "
                  "loss, a float");
    if constexpr (fits) return run_step(step);
    else return 0;
  }

  /// Asks the session to end: after the contribution that is being made no further one is begun. May be called inside
  /// the step. In one process the state is saved. In a cluster only this task leaves the job, as if a hook had asked
  /// (`Hook`); with `OwnBatches` that ends the job.
  void request_stop(std::string_view reason) { loop_->request_stop(std::string{reason}); }

  /// Ends the session, if it is not over: asks it to stop, and saves in one process. Returns the exit code of the
  /// process, as `Trainer::run` and `ClusterTrainer::run`; a second call returns it again. After an exception from
  /// `run` it is 1. Throws what ended the session in `should_stop`.
  auto close() -> int { return loop_->close(); }

  /// True for the chief, which saves summaries and measures; in one process always.
  [[nodiscard]] auto is_chief() const noexcept -> bool { return loop_->is_chief(); }
  /// Returns how many global steps are done, as far as this process knows, including those of earlier runs.
  [[nodiscard]] auto global_step() const noexcept -> Step { return result().steps; }
  /// Returns the result so far; complete after `close`.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return loop_->result(); }

 private:
  template <class F> auto run_step(F& step) -> float {
    if constexpr (own)
      state_->step = [&step](const auto&, const auto& values, auto& gradients, StepContext context) -> float {
        return step(values, gradients, context);
      };
    else state_->step = std::ref(step);
    try {
      return loop_->run();
    } catch (...) {
      if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));  // without the text around it
      throw;
    }
  }

  std::shared_ptr<detail::SessionState<M>> state_;
  std::unique_ptr<SessionLoop> loop_;
};

}  // namespace v0
}  // namespace distrib
