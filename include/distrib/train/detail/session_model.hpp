// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/batch.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/own_batches.hpp>
#include <distrib/train/session_options.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

template <class M> struct SessionExample {
  using Type = OwnBatches::Example;
};
template <class M>
  requires requires { typename M::Example; }
struct SessionExample<M> {
  using Type = typename M::Example;
};

/// What a session computes in the place of `gradients()`.
template <class M>
using StepFunction = std::function<float(const Batch<typename SessionExample<M>::Type>& batch,
                                         const Values<typename M::Variables>& values,
                                         Gradients<typename M::Variables>& gradients, StepContext context)>;

/// What a session and its model share. Only one thread uses it, the one that calls `run`.
template <class M> struct SessionState {
  SessionOptions<typename M::Variables> options;
  StepFunction<M> step;  ///< While `run` computes.
  bool has_begun = false;
  std::exception_ptr thrown;  ///< What the step, or a function of the options, threw.
};

/// A model whose `gradients()` is the function that `TrainingSession::run` was given; all else is as in `M`.
template <class M> class SessionModel : public M {
 public:
  using Variables = typename M::Variables;
  using Example = typename SessionExample<M>::Type;
  using Plain = M;

  explicit SessionModel(M model) : M{std::move(model)} {}

  [[nodiscard]] auto state() const noexcept -> const std::shared_ptr<SessionState<M>>& { return state_; }

  auto gradients(const Batch<Example>& batch, const Values<Variables>& values, Gradients<Variables>& gradients,
                 StepContext context) const -> float {
    SessionState<M>& state = *state_;
    try {
      if (!std::exchange(state.has_begun, true)) begin(state.options, values, context);
      return state.step(batch, values, gradients, context);
    } catch (...) {
      state.thrown = std::current_exception();
      throw;
    }
  }

  /// Returns a copy that shares nothing with this model.
  [[nodiscard]] auto apart() const -> SessionModel { return SessionModel{static_cast<const M&>(*this)}; }

 private:
  static void begin(const SessionOptions<Variables>& options, const Values<Variables>& values, StepContext context) {
    if (options.ready)
      if (const std::string missing = options.ready(values); !missing.empty())
        throw_error(train_errc::not_ready, missing);
    if (options.local_init) options.local_init(values, context);
  }

  std::shared_ptr<SessionState<M>> state_ = std::make_shared<SessionState<M>>();
};

template <class M> inline constexpr bool is_session_model = false;
template <class M> inline constexpr bool is_session_model<SessionModel<M>> = true;

}  // namespace detail
}  // namespace v0
}  // namespace distrib
