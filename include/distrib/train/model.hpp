// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/metrics.hpp>

#include <concepts>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Which contribution is being made. Everything random in `gradients()` comes from `random()`, so that the same name
/// (step, rank) gives the same bytes on any worker at any time.
struct StepContext {
  Step step = 0;               ///< From 1.
  Rank rank = 0;
  std::uint32_t workers = 1;   ///< Ranks of the job.
  std::uint64_t seed = 0;      ///< Of the job.

  /// A generator that depends on (seed, step, rank) alone; each call starts it anew.
  [[nodiscard]] auto random() const -> Philox { return Philox{seed, step, rank}; }
};

namespace detail {
template <class M>
concept LooksUp =
    M::Variables::tables == 0 || requires(const M& model, const Batch<typename M::Example>& batch,
                                          Lookups<typename M::Variables>& lookups) { model.lookups(batch, lookups); };
}  // namespace detail

/// What is trained. Semantics: `variables()` gives shapes and initializers; `gradients()` writes into the zeroed
/// gradients and returns the mean loss of the batch; with tables among the variables `lookups()` tells the keys that a
/// batch needs. All are pure functions of their arguments, called from several threads at once.
template <class M>
concept Model =
    detail::is_variable_list<typename M::Variables> && detail::LooksUp<M> &&
    requires(const M& model, const Batch<typename M::Example>& batch, const Values<typename M::Variables>& values,
             Gradients<typename M::Variables>& gradients, StepContext context) {
      { model.variables() } -> std::same_as<typename M::Variables>;
      { model.gradients(batch, values, gradients, context) } -> std::convertible_to<float>;
    };

namespace detail {

/// A model that can also be measured: `evaluate()` gives the metrics of one batch.
template <class M>
concept EvaluatedModel = Model<M> && requires(const M& model, const Batch<typename M::Example>& batch,
                                              const Values<typename M::Variables>& values) {
  { model.evaluate(batch, values) } -> std::same_as<Metrics>;
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
