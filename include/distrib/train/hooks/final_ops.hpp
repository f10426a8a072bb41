// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/events.hpp>
#include <distrib/train/named_values.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Computes something from the values at the end of a run and keeps it, as TensorFlow's FinalOpsHook:
/// `FinalOps last{[](const NamedValues& values) { return values.read("bias"); }};`. Pass a copy to `with_hooks`: copies
/// share the result.
template <class F> class FinalOps {
  static constexpr bool fits = std::is_invocable_v<F&, const NamedValues&>;
  static_assert(fits, "distrib: FinalOps takes a function of (const distrib::NamedValues&) that returns something");

 public:
  using Result = typename std::conditional_t<fits, std::invoke_result<F&, const NamedValues&>, std::type_identity<int>>::type;

  explicit FinalOps(F compute) : compute_{std::move(compute)} {}

  void on_end(const JobEnd& event) {
    *result_ = event.values != nullptr ? std::optional<Result>{compute_(*event.values)} : std::nullopt;
  }

  /// Returns what was computed at the end of the last run; empty before that, and if the values were not known, see
  /// `JobEnd::values`.
  [[nodiscard]] auto final_ops_values() const noexcept -> const std::optional<Result>& { return *result_; }

 private:
  F compute_;
  std::shared_ptr<std::optional<Result>> result_ = std::make_shared<std::optional<Result>>();
};

}  // namespace v0
}  // namespace distrib
