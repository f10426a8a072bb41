// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/detail/factors.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace distrib {
inline namespace v0 {

/// The same rate at every update.
struct Constant {
  float value = 0.01F;

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
  float first = 0.01F;
  float last = 0.0F;
  std::uint64_t steps = 1000;

  /// Returns the rate of update `count`, from 1; a pure function. 0 counts as 1.
  [[nodiscard]] auto at(std::uint64_t count) const noexcept -> float {
    const std::uint64_t elapsed = count == 0 ? 0 : count - 1;
    return elapsed < steps ? detail::interpolate(first, last, elapsed, steps) : last;
  }

  /// Returns the three numbers as text: "linear(0.02,0,12000)".
  [[nodiscard]] auto describe() const -> std::string {
    return "linear(" + detail::shortest_text(first) + ',' + detail::shortest_text(last) + ',' + std::to_string(steps) +
           ')';
  }

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> std::optional<Linear>;

  [[nodiscard]] auto operator==(const Linear&) const noexcept -> bool = default;
};

/// The learning rate, which depends only on the number of the update. A value; converts implicitly from a number (a
/// constant rate), a `Constant` or a `Linear`.
class LearningRate {
 public:
  LearningRate() = default;
  LearningRate(float value) : schedule_{Constant{value}} {}    // NOLINT: implicit on purpose
  LearningRate(Constant schedule) : schedule_{schedule} {}     // NOLINT
  LearningRate(Linear schedule) : schedule_{schedule} {}       // NOLINT

  /// Returns the rate of update `count`, from 1; a pure function.
  [[nodiscard]] auto at(std::uint64_t count) const noexcept -> float {
    const auto* linear = std::get_if<Linear>(&schedule_);
    return linear != nullptr ? linear->at(count) : std::get_if<Constant>(&schedule_)->at(count);
  }

  /// Returns the canonical text, without spaces: equal texts mean equal rates.
  [[nodiscard]] auto describe() const -> std::string {
    const auto* linear = std::get_if<Linear>(&schedule_);
    return linear != nullptr ? linear->describe() : std::get_if<Constant>(&schedule_)->describe();
  }

  /// Returns the rate whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<LearningRate> {
    if (const auto linear = Linear::parse(text)) return *linear;
    if (const auto constant = Constant::parse(text)) return *constant;
    return std::nullopt;
  }

  [[nodiscard]] auto operator==(const LearningRate&) const noexcept -> bool = default;

 private:
  std::variant<Constant, Linear> schedule_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/optimizer/impl/learning_rate.ipp>
#endif
