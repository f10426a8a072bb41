// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An Order of the elements that `Rule` admits: filter and ignore_errors. `bind` looks at every element once, in order,
/// and stores the number of each element that is kept, 8 bytes each. After that the kept elements have positions like
/// any others, so shuffle, repeat, shard and batches by number work on them. `Below` must not shuffle or repeat.
///
/// A rule has `rule.begin(data, error)`, called once before all elements; `rule.admits(data, number, error)`, which
/// returns true to keep the element; and the constants `Rule::name`, for `describe`, and `Rule::forgives`, as in Order.
/// Both functions can set `error`, which ends `bind`. Each `bind` uses a copy of the rule.
///
/// Errors: `bind` reports what `Below` and the rule report.
template <Order Below, class Rule> class SelectedOrder : public detail::StepsBelow<> {
 public:
  static constexpr bool forgives = Below::forgives || Rule::forgives;

  SelectedOrder(Below below, Rule rule)
      : below_{std::move(below)}, rule_{std::make_shared<const Rule>(std::move(rule))} {}

  template <class Data> void bind(Data& data, Error& error) {
    below_.bind(data, error);
    if (error) return;
    auto numbers = std::make_shared<std::vector<std::uint64_t>>();
    Rule rule = *rule_;
    rule.begin(data, error);
    if (error) return;
    for (std::uint64_t position = 0; position < below_.size(); ++position) {
      const std::uint64_t number = below_.at(0, position);
      const bool stays = rule.admits(data, number, error);
      if (error) return;
      if (stays) numbers->push_back(number);
    }
    numbers_ = std::move(numbers);
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return numbers_ ? numbers_->size() : 0; }
  [[nodiscard]] auto at(std::uint64_t, std::uint64_t position) const noexcept -> std::uint64_t {
    return (*numbers_)[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] auto plain() const -> SelectedOrder { return *this; }

  /// A rule has no text, so the description has the number of kept elements and a hash of their numbers instead.
  [[nodiscard]] auto describe() const -> std::string {
    Sha256 hash;
    if (numbers_) hash.update(std::as_bytes(std::span{*numbers_}));
    return below_.describe() + ' ' + Rule::name + '=' + std::to_string(size()) + '/' +
           to_hex(ByteView{hash.finish()}.first(4));
  }

 private:
  Below below_;
  std::shared_ptr<const Rule> rule_;  // shared, because many function objects can be copied but not assigned
  std::shared_ptr<const std::vector<std::uint64_t>> numbers_;
};

namespace detail {

/// The rule of filter(predicate).
template <class Predicate> struct FilterRule {
  static constexpr const char* name = "filter";
  static constexpr bool forgives = false;
  Predicate predicate;

  template <class Data> void begin(Data&, Error&) noexcept {}
  template <class Data> auto admits(Data& data, std::uint64_t number, Error& error) -> bool {
    return data.matches(predicate, number, error);
  }
};

/// The rule of ignore_errors(at_most).
template <class Count> struct IgnoreRule {
  static constexpr const char* name = "ignore_errors";
  static constexpr bool forgives = true;
  Count at_most;
  Count ignored = 0;

  template <class Data> void begin(Data& data, Error& error) {  // damage found before the records had numbers
    for (const Error& lost : data.lost())
      if (!error) pass_over(data, lost, error);
  }
  template <class Data> auto admits(Data& data, std::uint64_t number, Error& error) -> bool {
    Error damage;
    data.check(number, damage);
    if (!damage) return true;
    bool is_damage = true;
    if constexpr (requires { data.is_damage(damage); }) is_damage = data.is_damage(damage);
    if (is_damage) pass_over(data, damage, error);
    else error = damage;
    return false;
  }
  template <class Data> void pass_over(Data& data, const Error& damage, Error& error) {
    if (ignored++ == at_most) error = {data_errc::too_many_errors, damage.where + ": " + damage.code.message()};
    else data.ignore(damage);
  }
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
