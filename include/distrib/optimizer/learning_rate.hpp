// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/detail/factors.hpp>
#include <distrib/optimizer/error.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Each schedule is a pure function of the number of the update, counted from 1: there is no state, so a job that
// continues after a restart has the same rates. Where a formula is PyTorch's, its `epoch` is the number of updates
// before this one. So a program that calls `scheduler.step()` once after each `optimizer.step()` has the same rates;
// for a program that calls it once per epoch, multiply the lengths by the updates of an epoch.

namespace distrib {
inline namespace v0 {

/// The same rate at every update.
struct Constant {
  float value = 0.01F;  ///< The rate.

  /// Returns `value`, for each number of an update.
  [[nodiscard]] auto at(std::uint64_t) const noexcept -> float { return value; }

  /// Returns the rate as text: "0.05".
  [[nodiscard]] auto describe() const -> std::string { return detail::shortest_text(value); }

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Constant> {
    const auto value = detail::parse_shortest<float>(text);
    return value ? std::optional{Constant{*value}} : std::nullopt;
  }

  [[nodiscard]] auto operator==(const Constant&) const noexcept -> bool = default;
};

/// A rate that changes along a straight line: `first` at the first update, `last` after `steps` more updates and from
/// then on. (TensorFlow's polynomial_decay with power 1, whose global step is 0 at the first update.)
struct Linear {
  float first = 0.01F;  ///< At the first update.
  float last = 0.0F;  ///< After `steps` more updates.
  std::uint64_t steps = 1000;  ///< Updates between `first` and `last`. 0: the rate is always `last`.

  /// Returns the rate of update `count`, from 1; a pure function. 0 counts as 1.
  [[nodiscard]] auto at(std::uint64_t count) const noexcept -> float {
    const std::uint64_t elapsed = count == 0 ? 0 : count - 1;
    return elapsed < steps ? detail::interpolate(first, last, elapsed, steps) : last;
  }

  /// Returns the three numbers as text: "linear(0.02,0,12000)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<Linear>;

  [[nodiscard]] auto operator==(const Linear&) const noexcept -> bool = default;
};

/// A rate that is multiplied by `factor` after every `every` updates: first * factor^n, where n is the number of whole
/// intervals before this update. PyTorch's StepLR, where `factor` is gamma and `every` is step_size.
struct StepDecay {
  float first = 0.01F;  ///< At the first update.
  double factor = 0.1;  ///< The multiplier; not checked.
  std::uint64_t every = 1000;  ///< At least 1.

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: `first`.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the three numbers as text: "step_decay(0.1,0.5,300)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<StepDecay>;

  /// Sets `ec` to `optimizer_errc::bad_schedule` if `every` is 0; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (every == 0) ec = optimizer_errc::bad_schedule;
  }

  [[nodiscard]] auto operator==(const StepDecay&) const noexcept -> bool = default;
};

/// A rate that is multiplied by `factor` at each milestone: first * factor^n, where n is the number of milestones that
/// are at most the number of updates before this one. So after milestone 300 the first 300 updates have the old rate.
/// PyTorch's MultiStepLR, where `factor` is gamma; there a milestone may occur twice.
struct MultiStepDecay {
  float first = 0.01F;  ///< Before the first milestone.
  double factor = 0.1;  ///< The multiplier; not checked.
  std::vector<std::uint64_t> milestones = {};  ///< In ascending order, each once.

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: that of the first.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns all numbers as text: "multi_step_decay(0.1,0.5,300,600)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<MultiStepDecay>;

  /// Sets `ec` to `optimizer_errc::bad_schedule` if the milestones do not ascend; otherwise leaves `ec` unchanged.
  DISTRIB_DECL void check(std::error_code& ec) const noexcept;

  [[nodiscard]] auto operator==(const MultiStepDecay&) const noexcept -> bool = default;
};

/// A rate that is multiplied by `factor` at every update: first * factor^n, where n is the number of updates before
/// this one. PyTorch's ExponentialLR, where `factor` is gamma.
struct ExponentialDecay {
  float first = 0.01F;  ///< At the first update.
  double factor = 0.999;  ///< The multiplier; not checked.

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: `first`.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the two numbers as text: "exponential_decay(0.1,0.999)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<ExponentialDecay>;

  [[nodiscard]] auto operator==(const ExponentialDecay&) const noexcept -> bool = default;
};

/// A rate that falls along half a cosine wave: last + (first - last) * (1 + cos(pi * n / steps)) / 2, where n is the
/// number of updates before this one; `last` after `steps` updates and from then on. PyTorch's CosineAnnealingLR, where
/// `steps` is T_max and `last` is eta_min; but there the rate rises again after T_max. (Loshchilov and Hutter, 2017,
/// without restarts. TensorFlow's CosineDecay also stays.)
struct CosineDecay {
  float first = 0.01F;  ///< At the first update.
  float last = 0.0F;  ///< After `steps` updates.
  std::uint64_t steps = 1000;  ///< 0: the rate is always `last`.

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: `first`.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the three numbers as text: "cosine_decay(0.1,0,1000)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<CosineDecay>;

  [[nodiscard]] auto operator==(const CosineDecay&) const noexcept -> bool = default;
};

/// One cycle (Smith and Topin, 2018), as PyTorch's OneCycleLR with anneal_strategy 'cos' and two phases: with n the
/// number of updates before this one, the rate rises along half a cosine wave from highest / initial_divisor to
/// `highest` at n = rising * steps - 1, then falls along another to highest / initial_divisor / final_divisor at n =
/// steps - 1. Differences: only the rate changes (PyTorch's also changes the momentum unless cycle_momentum=False);
/// after the cycle the rate stays, where PyTorch raises an error.
struct OneCycle {
  float highest = 0.01F;  ///< max_lr.
  std::uint64_t steps = 1000;  ///< total_steps; at least 1.
  double rising = 0.3;  ///< pct_start: part of the steps in which the rate rises, from 0 to 1.
  double initial_divisor = 25;  ///< div_factor; above 0.
  double final_divisor = 10000;  ///< final_div_factor; above 0.

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: that of the first.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the five numbers as text: "one_cycle(0.1,1000,0.3,25,10000)".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<OneCycle>;

  /// Sets `ec` to `optimizer_errc::bad_schedule` if a member is outside its range; otherwise leaves `ec` unchanged.
  DISTRIB_DECL void check(std::error_code& ec) const noexcept;

  [[nodiscard]] auto operator==(const OneCycle&) const noexcept -> bool = default;
};

namespace detail {
/// A schedule that can stand behind a warm-up: any except another warm-up.
using PlainSchedule =
    std::variant<Constant, Linear, StepDecay, MultiStepDecay, ExponentialDecay, CosineDecay, OneCycle>;

template <class T, class Choice> inline constexpr bool is_choice_of = false;
template <class T, class... Ts>
inline constexpr bool is_choice_of<T, std::variant<Ts...>> = (std::same_as<T, Ts> || ...);
}  // namespace detail

/// A warm-up in front of another schedule. With n the number of updates before this one: while n < `steps`, the rate is
/// start + (1 - start) * n / steps, times the first rate of `then`; afterwards `then` runs from its first update on.
/// PyTorch's LinearLR with start_factor `start`, end_factor 1 and total_iters `steps`, in a SequentialLR with the
/// milestone `steps`.
struct WarmUp {
  std::uint64_t steps = 1000;  ///< Updates of the warm-up. 0: there is no warm-up.
  double start = 1.0 / 3;  ///< The first rate, as a multiple of the first rate of `then`.
  /// The schedule behind the warm-up: any of this header except another warm-up.
  detail::PlainSchedule then = Constant{};

  /// Returns the rate of update `count`, from 1; a pure function. Before the first update: that of the first.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the members as text: "warm_up(500,0.1,cosine_decay(0.1,0,1000))".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<WarmUp>;

  /// Sets `ec` to `optimizer_errc::bad_schedule` if `then` does; otherwise leaves `ec` unchanged.
  DISTRIB_DECL void check(std::error_code& ec) const noexcept;

  [[nodiscard]] auto operator==(const WarmUp&) const noexcept -> bool = default;
};

/// The learning rate, which depends only on the number of the update. A value; converts implicitly from a number (a
/// constant rate) and from each schedule of this header.
class LearningRate {
 public:
  /// The constant rate 0.01.
  LearningRate() = default;
  /// Makes a constant rate, or the rate of a schedule.
  LearningRate(float value) : schedule_{Constant{value}} {}  // NOLINT: implicit on purpose
  LearningRate(WarmUp schedule) : schedule_{std::move(schedule)} {}  // NOLINT
  template <class S>
    requires detail::is_choice_of<S, detail::PlainSchedule>
  LearningRate(S schedule) : schedule_{detail::PlainSchedule{std::move(schedule)}} {}  // NOLINT

  /// Returns the rate of update `count`, from 1; a pure function.
  [[nodiscard]] DISTRIB_DECL auto at(std::uint64_t count) const noexcept -> float;

  /// Returns the canonical text, without spaces: equal texts mean equal rates.
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<LearningRate>;

  /// Sets `ec` to `optimizer_errc::bad_schedule` if the schedule cannot be computed; otherwise leaves `ec` unchanged.
  DISTRIB_DECL void check(std::error_code& ec) const noexcept;

  [[nodiscard]] auto operator==(const LearningRate&) const noexcept -> bool = default;

 private:
  std::variant<detail::PlainSchedule, WarmUp> schedule_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/optimizer/impl/learning_rate.ipp>
#endif
