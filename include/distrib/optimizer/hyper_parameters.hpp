// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shortest_text.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// A type that can be a hyper-parameter: a number, a bool, or a value that writes itself with `describe()` and reads
/// itself with a static `parse(text)`, as `LearningRate` does. Semantics: the text has no spaces; equal texts mean
/// equal values.
template <class T>
concept HyperParameter = std::is_arithmetic_v<T> || requires(const T& value, std::string_view text) {
  { value.describe() } -> std::convertible_to<std::string>;
  { T::parse(text) } -> std::convertible_to<std::optional<T>>;
};

/// Returns "key=value" in the form that `HyperParameters` reads: as value the shortest number that reads back the same,
/// "true", "false", or the value's `describe()`. An updater's `describe()` consists of such texts, separated by single
/// spaces.
template <HyperParameter T> [[nodiscard]] auto hyper_parameter(std::string_view key, const T& value) -> std::string {
  std::string text = std::string{key} + '=';
  if constexpr (std::is_same_v<T, bool>) return text + (value ? "true" : "false");
  else if constexpr (std::is_arithmetic_v<T>) return text + detail::shortest_text(value);
  else return text + value.describe();
}

}  // namespace detail

/// Reads "key=value key=value" in an updater's `parse`: call `read` once for each key, in the order of the text, then
/// `ok()`. The text may come from an unknown client. A view of the text, which must outlive it.
class HyperParameters {
 public:
  /// Begins before the first key of `text`.
  explicit HyperParameters(std::string_view text) noexcept : rest_{text}, more_{!text.empty()} {}

  /// Reads the next key into `value`. If the text has another key there, or no canonical value, or an earlier read
  /// failed, `value` stays as it is and `ok()` becomes false. Returns this object, for the next read.
  template <detail::HyperParameter T> auto read(std::string_view key, T& value) -> HyperParameters& {
    const std::string_view field = next();
    std::string_view text = field;
    detail::cut_before(text, '=');
    const std::optional<T> read = parse<T>(text);
    if (ok_ && read && detail::hyper_parameter(key, *read) == field) value = *read;
    else ok_ = false;
    return *this;
  }

  /// Reads a key that the text has only if its value is not `absent`. Without the key `value` stays as it is.
  template <detail::HyperParameter T> auto read_optional(std::string_view key, T& value, const T& absent)
      -> HyperParameters& {
    const bool is_next = more_ && rest_.starts_with(key) && rest_.substr(key.size()).starts_with('=');
    if (!is_next) return *this;
    T found = absent;
    read(key, found);
    if (ok_ && found == absent) ok_ = false;
    if (ok_) value = found;
    return *this;
  }

  /// True if the text had exactly the keys that were read, in this order, each with its canonical value.
  [[nodiscard]] auto ok() const noexcept -> bool { return ok_ && !more_; }

 private:
  auto next() noexcept -> std::string_view {
    more_ = rest_.find(' ') != std::string_view::npos;  // another field follows every space, even a space at the end
    return detail::cut_before(rest_, ' ');
  }

  template <class T>
  static auto parse(std::string_view text) -> std::optional<T> {
    if constexpr (std::is_same_v<T, bool>) return text == "true";
    else if constexpr (std::is_arithmetic_v<T>) return detail::parse_shortest<T>(text);
    else return T::parse(text);
  }

  std::string_view rest_;
  bool more_;
  bool ok_ = true;
};

namespace detail {
/// Collects "key=value" texts, separated by single spaces.
struct HyperWriter {
  std::string text;

  template <HyperParameter T> void operator()(std::string_view key, const T& value) {
    if (!text.empty()) text += ' ';
    text += hyper_parameter(key, value);
  }
  template <HyperParameter T> void optional(std::string_view key, const T& value, const T& absent) {
    if (!(value == absent)) (*this)(key, value);
  }
};

/// Reads what a `HyperWriter` collected.
struct HyperReader {
  HyperParameters fields;

  template <HyperParameter T> void operator()(std::string_view key, T& value) { fields.read(key, value); }
  template <HyperParameter T> void optional(std::string_view key, T& value, const T& absent) {
    fields.read_optional(key, value, absent);
  }
};
}  // namespace detail

/// Returns the `describe()` of an updater that lists its hyper-parameters in a static `fields(self, field)`, which
/// calls `field(key, self.member)` for each: "key=value" in that order, separated by single spaces. A hyper-parameter
/// that was added later, so that older texts do not have it, is listed by `field.optional(key, self.member, absent)`:
/// the text has it only if its value is not `absent`.
template <class U> [[nodiscard]] auto describe_fields(const U& updater) -> std::string {
  detail::HyperWriter writer;
  U::fields(updater, writer);
  return std::move(writer.text);
}

/// Returns the updater for which `describe_fields` returns `text`; empty for any other text. The text may come from an
/// unknown client.
template <class U> [[nodiscard]] auto parse_fields(std::string_view text) -> std::optional<U> {
  U read;
  detail::HyperReader reader{HyperParameters{text}};
  U::fields(read, reader);
  return reader.fields.ok() ? std::optional<U>{read} : std::nullopt;
}

}  // namespace v0
}  // namespace distrib
