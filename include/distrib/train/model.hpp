// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model_updaters.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Says which contribution is computed. A model must take all random numbers in `gradients()` from `random()`, so that
/// the same name (step, rank) gives the same bytes on any worker at any time.
struct StepContext {
  Step step = 0;              ///< From 1. In a job with local steps: the number of the local step.
  Rank rank = 0;  ///< From 0.
  std::uint32_t workers = 1;  ///< Number of ranks of the job; if they change, the most that there may be.
  std::uint64_t seed = 0;     ///< Seed of the job.
  std::uint32_t micro_batch = 0;  ///< Number of the batch within the gradient, see `with_gradient_accumulation`.
  const Feed* fed = nullptr;      ///< What `feed` finds. Valid during the call.

  /// Returns a new generator that depends only on (seed, step, rank, micro_batch); each call returns it in its initial
  /// state.
  [[nodiscard]] auto random() const -> Philox { return Philox{seed, step, rank + micro_batch * workers}; }

  /// Returns the extra input with this name that a `FeedFn` gave for this contribution. Throws `train_errc::bad_hook`
  /// if there is none.
  [[nodiscard]] auto feed(std::string_view name) const -> std::span<const float> {
    return detail::find_feed(fed, name);
  }
};

namespace detail {
template <class M>
concept HasLookups = requires(const M& model, const Batch<typename M::Example>& batch,
                              Lookups<typename M::Variables>& lookups) { model.lookups(batch, lookups); };
template <class M>
concept LooksUp = !has_known_tables<typename M::Variables> || HasLookups<M>;
}  // namespace detail

/// A model that can be trained. With tables among its variables it also has
/// `lookups(const Batch<Example>&, Lookups<Variables>&) const -> void`, for `Evaluate`
/// `evaluate(const Batch<Example>&, const Values<Variables>&) const -> Metrics`, and for a `CustomInitializer`
/// `initial_values`, see `InitialValues`.
///
/// It may also have
/// - `updaters() const -> ModelUpdaters`: updaters for some of its variables and tables, by their whole names. The
///   recipe's `with_updater` with a predicate or without a name does not replace them; one with the same whole name
///   does. What `gradients()` writes for these need not be the gradient of the loss, and is not clipped: with `Sgd{1}`
///   the difference (before - after) sets a running mean to its new value;
/// - `describe() const -> std::string`: one line that describes with what this process computes, such as the name and
///   version of a library and its number of threads, at most 4096 bytes. Workers of a synchronous job whose lines
///   differ are refused (`ps_errc::unlike_arithmetic`); other jobs report an event. Not part of the identity of the
///   job.
///
/// Semantics: `Variables` is a `VariableList`, or `RuntimeVariables` if the names are known only when the program runs.
/// `variables()` returns names, shapes and initializers; a process asks for them once. `gradients()` adds to the
/// gradients, which are zero at the start, and returns the mean loss of the batch. If there are tables among the
/// variables, `lookups()` lists the keys that a batch needs. All are pure functions of their arguments, and are called
/// by several threads at once.
template <class M>
concept Model =
    detail::is_variable_list<typename M::Variables> && detail::LooksUp<M> &&
    requires(const M& model, const Batch<typename M::Example>& batch, const Values<typename M::Variables>& values,
             Gradients<typename M::Variables>& gradients, StepContext context) {
      { model.variables() } -> std::same_as<typename M::Variables>;
      { model.gradients(batch, values, gradients, context) } -> std::convertible_to<float>;
    };

namespace detail {

/// A model that can also be measured: `evaluate()` returns the metrics of one batch.
template <class M>
concept EvaluatedModel = Model<M> && requires(const M& model, const Batch<typename M::Example>& batch,
                                              const Values<typename M::Variables>& values) {
  { model.evaluate(batch, values) } -> std::same_as<Metrics>;
};

/// A model that brings updaters of its own.
template <class M>
concept BringsUpdaters = requires(const M& model) {
  { model.updaters() } -> std::convertible_to<ModelUpdaters>;
};
template <class M>
concept HasUpdatersMember = requires(M& model) { model.updaters(); };

/// A model that describes its arithmetic.
template <class M>
concept DescribesArithmetic = requires(const M& model) {
  { model.describe() } -> std::convertible_to<std::string>;
};
template <class M>
concept HasDescribeMember = requires(M& model) { model.describe(); };

}  // namespace detail

}  // namespace v0
}  // namespace distrib
