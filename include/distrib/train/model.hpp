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

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Says which contribution is computed. A model must take all random numbers in `gradients()` from `random()`, so that
/// the same name (step, rank) gives the same bytes on any worker at any time.
struct StepContext {
  Step step = 0;              ///< From 1.
  Rank rank = 0;
  std::uint32_t workers = 1;  ///< Number of ranks of the job.
  std::uint64_t seed = 0;     ///< Seed of the job.
  std::uint32_t micro_batch = 0;  ///< Number of the batch within the contribution, see `with_gradient_accumulation`.
  const Feed* fed = nullptr;      ///< What `feed` finds. Valid during the call.

  /// Returns a new generator that depends only on (seed, step, rank, micro_batch); each call returns it in its initial
  /// state.
  [[nodiscard]] auto random() const -> Philox { return Philox{seed, step, rank + micro_batch * workers}; }

  /// Returns the extra input with this name that a `FeedFn` gave for this contribution. Throws `train_errc::bad_hook` if
  /// there is none.
  [[nodiscard]] auto feed(std::string_view name) const -> std::span<const float> {
    return detail::find_feed(fed, name);
  }
};

namespace detail {
template <class M>
concept LooksUp =
    M::Variables::tables == 0 || requires(const M& model, const Batch<typename M::Example>& batch,
                                          Lookups<typename M::Variables>& lookups) { model.lookups(batch, lookups); };
}  // namespace detail

/// A model that can be trained. With tables among its variables it also has
/// `lookups(const Batch<Example>&, Lookups<Variables>&) const -> void`, for `Evaluate`
/// `evaluate(const Batch<Example>&, const Values<Variables>&) const -> Metrics`, and for a `CustomInitializer`
/// `initial_values`, see `InitialValues`.
///
/// Semantics: `variables()` returns shapes and initializers. `gradients()` adds to the gradients, which are zero at the
/// start, and returns the mean loss of the batch. If there are tables among the variables, `lookups()` lists the keys
/// that a batch needs. All are pure functions of their arguments, and are called by several threads at once.
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

}  // namespace detail

}  // namespace v0
}  // namespace distrib
