// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads a member's value, or an element, into a variable. Each returns false if the value is of another kind, or out of
/// range. The current token is the one before the value, except for those that say otherwise.
class LogTextReader {
 public:
  explicit LogTextReader(std::string_view text) noexcept : json_{text} {}

  /// Reads an object. `on_member(name)` reads the value of a member; `skip()` for a member that it does not know. Each
  /// name may occur once. `required`: the names that must occur.
  template <class OnMember>
  auto object(std::initializer_list<std::string_view> required, OnMember on_member) -> bool {
    return begin_object() && members(required, on_member);
  }

  /// Reads an array of objects: calls `on_element()` at the beginning of each one, which calls `members`.
  template <class OnElement>
  auto array(std::size_t most, OnElement on_element) -> bool {
    if (json_.next() != JsonToken::begin_array) return false;
    for (std::size_t count = 0; json_.next() != JsonToken::end_array; ++count)
      if (count == most || !on_element()) return false;
    return true;
  }

  /// Reads the members of an object whose beginning is the current token.
  template <class OnMember>
  auto members(std::initializer_list<std::string_view> required, OnMember on_member) -> bool {
    if (json_.token() != JsonToken::begin_object) return false;
    std::vector<std::string> seen;
    while (json_.next() == JsonToken::name) {
      if (seen.size() == 64 || std::ranges::find(seen, json_.text()) != seen.end()) return false;
      seen.emplace_back(json_.text());
      if (!on_member(std::string_view{seen.back()})) return false;
    }
    if (json_.token() != JsonToken::end_object) return false;
    return std::ranges::all_of(required, [&](auto name) { return std::ranges::find(seen, name) != seen.end(); });
  }

  /// Goes to the beginning of an object; then `members` reads it.
  auto begin_object() -> bool { return json_.next() == JsonToken::begin_object; }

  auto skip() -> bool {
    json_.skip();
    return json_.token() != JsonToken::error;
  }

  auto text(std::string& to, std::size_t most) -> bool {
    if (json_.next() != JsonToken::string || json_.text().size() > most) return false;
    to = json_.text();
    return true;
  }

  /// A count: a number that is not negative and below 2^63.
  auto count(std::uint64_t& to, std::uint64_t most = INT64_MAX) -> bool {
    return json_.next() == JsonToken::number && this_count(to, most);
  }
  /// The same for the current token.
  auto this_count(std::uint64_t& to, std::uint64_t most = INT64_MAX) -> bool {
    if (json_.token() != JsonToken::number) return false;
    const auto value = json_.int64();
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > most) return false;
    to = static_cast<std::uint64_t>(*value);
    return true;
  }

  /// Texts of 16 lower-case hexadecimal digits, one for each word.
  template <class... Words>
  auto words(Words&... to) -> bool {
    std::string digits;
    if (!text(digits, 16 * sizeof...(to)) || digits.size() != 16 * sizeof...(to)) return false;
    if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
    const char* at = digits.data();
    ((std::from_chars(at, at + 16, to, 16), at += 16), ...);
    return true;
  }

  /// Reads the end of the text.
  auto end() -> bool { return json_.next() == JsonToken::end; }

  [[nodiscard]] auto offset() const noexcept -> std::size_t { return json_.offset(); }

 private:
  JsonReader json_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
