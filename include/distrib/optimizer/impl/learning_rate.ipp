// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/learning_rate.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the number of updates before update `count`, from 1.
DISTRIB_DECL auto updates_before(std::uint64_t count) noexcept -> std::uint64_t { return count == 0 ? 0 : count - 1; }

/// Returns first * factor^exponent, computed in double and rounded once.
DISTRIB_DECL auto decayed(float first, double factor, std::uint64_t exponent) noexcept -> float {
  const Rounded<double> start{static_cast<double>(first)};
  return static_cast<float>((start * Rounded<double>{power(factor, exponent)}).value);
}

/// Returns a rate between `first` and `last`, along half a cosine wave: `first` at `part` 0, `last` at 1.
DISTRIB_DECL auto along_cosine(double first, double last, double part) noexcept -> double {
  const Rounded<double> end{last};
  return (end + (Rounded<double>{first} - end) * Rounded<double>{half_cosine(part)}).value;
}

/// Returns "name(a,b,c)".
template <class... Numbers> auto call_text(std::string_view name, Numbers... numbers) -> std::string {
  std::string text{name};
  char separator = '(';
  const auto append = [&](auto number) { text.append(1, std::exchange(separator, ',')).append(shortest_text(number)); };
  (append(numbers), ...);
  return text + ')';
}

/// Reads the numbers of a text "name(a,b,c)". What it does not check (the name, whether the text ends there) is checked
/// by comparing the text with the `describe()` of the result.
class CallReader {
 public:
  explicit CallReader(std::string_view text) : rest_{text} {
    cut_before(rest_, '(');
    if (rest_.ends_with(')')) rest_.remove_suffix(1);
  }

  /// Returns the next number; 0 if there is none.
  template <class T> auto next() -> T {
    const auto number = parse_shortest<T>(cut_before(rest_, ','));
    ok_ = ok_ && number;
    return number.value_or(T{});
  }
  /// Returns what follows the numbers that were read.
  [[nodiscard]] auto rest() const noexcept -> std::string_view { return rest_; }
  /// True if each `next` has read a number.
  [[nodiscard]] auto ok() const noexcept -> bool { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Returns the schedule if all its numbers were read and its text is `text`.
template <class S> auto if_described(S schedule, bool ok, std::string_view text) -> std::optional<S> {
  return ok && schedule.describe() == text ? std::optional<S>{std::move(schedule)} : std::nullopt;
}

/// Returns the schedule of a list of types whose `describe()` is `text`.
template <class... Ts>
auto parse_schedule(std::string_view text, std::variant<Ts...>*) -> std::optional<std::variant<Ts...>> {
  std::optional<std::variant<Ts...>> found;
  const auto found_one = [&](auto schedule) {
    if (schedule) found = *std::move(schedule);
    return found.has_value();
  };
  static_cast<void>((found_one(Ts::parse(text)) || ...));
  return found;
}
DISTRIB_DECL auto parse_plain_schedule(std::string_view text) -> std::optional<PlainSchedule> {
  return parse_schedule(text, static_cast<PlainSchedule*>(nullptr));
}

DISTRIB_DECL auto rate_at(const PlainSchedule& schedule, std::uint64_t count) noexcept -> float {
  return std::visit([count](const auto& chosen) { return chosen.at(count); }, schedule);
}

DISTRIB_DECL auto schedule_text(const PlainSchedule& schedule) -> std::string {
  return std::visit([](const auto& chosen) { return chosen.describe(); }, schedule);
}

DISTRIB_DECL void check_schedule(const PlainSchedule& schedule, std::error_code& ec) noexcept {
  const auto check = [&ec](const auto& chosen) {
    if constexpr (requires { chosen.check(ec); }) chosen.check(ec);
  };
  std::visit(check, schedule);
}

}  // namespace detail

DISTRIB_DECL auto Linear::describe() const -> std::string { return detail::call_text("linear", first, last, steps); }

DISTRIB_DECL auto Linear::parse(std::string_view text) -> std::optional<Linear> {
  detail::CallReader read{text};
  const Linear linear{read.next<float>(), read.next<float>(), read.next<std::uint64_t>()};
  return detail::if_described(linear, read.ok(), text);
}

DISTRIB_DECL auto StepDecay::at(std::uint64_t count) const noexcept -> float {
  return detail::decayed(first, factor, every == 0 ? 0 : detail::updates_before(count) / every);
}

DISTRIB_DECL auto StepDecay::describe() const -> std::string {
  return detail::call_text("step_decay", first, factor, every);
}

DISTRIB_DECL auto StepDecay::parse(std::string_view text) -> std::optional<StepDecay> {
  detail::CallReader read{text};
  const StepDecay decay{read.next<float>(), read.next<double>(), read.next<std::uint64_t>()};
  return detail::if_described(decay, read.ok(), text);
}

DISTRIB_DECL auto MultiStepDecay::at(std::uint64_t count) const noexcept -> float {
  const auto passed = std::ranges::upper_bound(milestones, detail::updates_before(count)) - milestones.begin();
  return detail::decayed(first, factor, static_cast<std::uint64_t>(passed));
}

DISTRIB_DECL auto MultiStepDecay::describe() const -> std::string {
  std::string text = detail::call_text("multi_step_decay", first, factor);
  text.pop_back();
  for (const std::uint64_t milestone : milestones) text += ',' + std::to_string(milestone);
  return text + ')';
}

DISTRIB_DECL auto MultiStepDecay::parse(std::string_view text) -> std::optional<MultiStepDecay> {
  detail::CallReader read{text};
  MultiStepDecay decay{read.next<float>(), read.next<double>(), {}};
  while (read.ok() && !read.rest().empty()) decay.milestones.push_back(read.next<std::uint64_t>());
  return detail::if_described(std::move(decay), read.ok(), text);
}

DISTRIB_DECL void MultiStepDecay::check(std::error_code& ec) const noexcept {
  const auto descends = [](std::uint64_t a, std::uint64_t b) { return a >= b; };
  if (std::ranges::adjacent_find(milestones, descends) != milestones.end()) ec = optimizer_errc::bad_schedule;
}

DISTRIB_DECL auto ExponentialDecay::at(std::uint64_t count) const noexcept -> float {
  return detail::decayed(first, factor, detail::updates_before(count));
}

DISTRIB_DECL auto ExponentialDecay::describe() const -> std::string {
  return detail::call_text("exponential_decay", first, factor);
}

DISTRIB_DECL auto ExponentialDecay::parse(std::string_view text) -> std::optional<ExponentialDecay> {
  detail::CallReader read{text};
  const ExponentialDecay decay{read.next<float>(), read.next<double>()};
  return detail::if_described(decay, read.ok(), text);
}

DISTRIB_DECL auto CosineDecay::at(std::uint64_t count) const noexcept -> float {
  const std::uint64_t elapsed = detail::updates_before(count);
  if (elapsed >= steps) return last;
  using Real = detail::Rounded<double>;
  const Real part = Real{static_cast<double>(elapsed)} / Real{static_cast<double>(steps)};
  return static_cast<float>(detail::along_cosine(static_cast<double>(first), static_cast<double>(last), part.value));
}

DISTRIB_DECL auto CosineDecay::describe() const -> std::string {
  return detail::call_text("cosine_decay", first, last, steps);
}

DISTRIB_DECL auto CosineDecay::parse(std::string_view text) -> std::optional<CosineDecay> {
  detail::CallReader read{text};
  const CosineDecay decay{read.next<float>(), read.next<float>(), read.next<std::uint64_t>()};
  return detail::if_described(decay, read.ok(), text);
}

DISTRIB_DECL auto OneCycle::at(std::uint64_t count) const noexcept -> float {
  using Real = detail::Rounded<double>;
  const Real top{static_cast<double>(highest)};
  const Real first = top / Real{initial_divisor};
  const Real last = first / Real{final_divisor};
  const std::uint64_t elapsed = detail::updates_before(count);
  if (elapsed >= steps) return static_cast<float>(last.value);
  const Real one{1.0};
  const Real n{static_cast<double>(elapsed)};
  const Real all{static_cast<double>(steps)};
  const Real turn = Real{rising} * all - one;  // the number of updates before the one with the highest rate
  if (n.value < turn.value) return static_cast<float>(detail::along_cosine(first.value, top.value, (n / turn).value));
  if (n.value == turn.value) return highest;
  return static_cast<float>(detail::along_cosine(top.value, last.value, ((n - turn) / (all - one - turn)).value));
}

DISTRIB_DECL auto OneCycle::describe() const -> std::string {
  return detail::call_text("one_cycle", highest, steps, rising, initial_divisor, final_divisor);
}

DISTRIB_DECL auto OneCycle::parse(std::string_view text) -> std::optional<OneCycle> {
  detail::CallReader read{text};
  const OneCycle cycle{read.next<float>(), read.next<std::uint64_t>(), read.next<double>(), read.next<double>(),
                       read.next<double>()};
  return detail::if_described(cycle, read.ok(), text);
}

DISTRIB_DECL void OneCycle::check(std::error_code& ec) const noexcept {
  const bool fits = steps > 0 && rising >= 0 && rising <= 1 && initial_divisor > 0 && final_divisor > 0;
  if (!fits) ec = optimizer_errc::bad_schedule;
}

DISTRIB_DECL auto WarmUp::at(std::uint64_t count) const noexcept -> float {
  const std::uint64_t elapsed = detail::updates_before(count);
  if (elapsed >= steps) return detail::rate_at(then, elapsed - steps + 1);
  using Real = detail::Rounded<double>;
  const Real part = Real{static_cast<double>(elapsed)} / Real{static_cast<double>(steps)};
  const Real share = Real{start} + (Real{1.0} - Real{start}) * part;
  return static_cast<float>((Real{static_cast<double>(detail::rate_at(then, 1))} * share).value);
}

DISTRIB_DECL auto WarmUp::describe() const -> std::string {
  std::string text = detail::call_text("warm_up", steps, start);
  text.back() = ',';
  return text + detail::schedule_text(then) + ')';
}

DISTRIB_DECL auto WarmUp::parse(std::string_view text) -> std::optional<WarmUp> {
  if (!text.starts_with("warm_up(")) return std::nullopt;
  detail::CallReader read{text};
  const auto steps = read.next<std::uint64_t>();
  const auto start = read.next<double>();
  auto then = detail::parse_plain_schedule(read.rest());
  if (!then) return std::nullopt;
  return detail::if_described(WarmUp{steps, start, *std::move(then)}, read.ok(), text);
}

DISTRIB_DECL void WarmUp::check(std::error_code& ec) const noexcept { detail::check_schedule(then, ec); }

DISTRIB_DECL auto LearningRate::at(std::uint64_t count) const noexcept -> float {
  const auto* plain = std::get_if<detail::PlainSchedule>(&schedule_);
  return plain != nullptr ? detail::rate_at(*plain, count) : std::get_if<WarmUp>(&schedule_)->at(count);
}

DISTRIB_DECL auto LearningRate::describe() const -> std::string {
  const auto* plain = std::get_if<detail::PlainSchedule>(&schedule_);
  return plain != nullptr ? detail::schedule_text(*plain) : std::get_if<WarmUp>(&schedule_)->describe();
}

DISTRIB_DECL auto LearningRate::parse(std::string_view text) -> std::optional<LearningRate> {
  LearningRate rate;
  if (auto plain = detail::parse_plain_schedule(text)) rate.schedule_ = *std::move(plain);
  else if (auto warm_up = WarmUp::parse(text)) rate.schedule_ = *std::move(warm_up);
  else return std::nullopt;
  return rate;
}

DISTRIB_DECL void LearningRate::check(std::error_code& ec) const noexcept {
  const auto* plain = std::get_if<detail::PlainSchedule>(&schedule_);
  if (plain != nullptr) detail::check_schedule(*plain, ec);
  else std::get_if<WarmUp>(&schedule_)->check(ec);
}

}  // namespace v0
}  // namespace distrib
