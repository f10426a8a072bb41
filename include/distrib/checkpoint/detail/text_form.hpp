// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Reads `name: value` pairs, as much of protobuf's text form as a CheckpointState can hold.
class TextFields {
 public:
  explicit TextFields(std::string_view text) : rest_{text} {}

  [[nodiscard]] auto at_end() -> bool {
    skip();
    return rest_.empty();
  }

  [[nodiscard]] auto name(std::string& name) -> bool {
    skip();
    name.clear();
    while (!rest_.empty() && is_word(rest_.front())) name += take();
    skip();
    return !name.empty() && !rest_.empty() && take() == ':';
  }

  /// One text, or several that follow each other, in double or single quotes.
  [[nodiscard]] auto text(std::string& value) -> bool {
    value.clear();
    skip();
    if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return false;
    while (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) {
      const char quote = take();
      while (true) {
        if (rest_.empty() || rest_.front() == '\n') return false;
        const char c = take();
        if (c == quote) break;
        if (c != '\\') value += c;
        else if (!escaped(value)) return false;
      }
      skip();
    }
    return true;
  }

  [[nodiscard]] auto number(double& value) -> bool {
    skip();
    const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (failed != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return rest_.empty() || !is_word(rest_.front());
  }

 private:
  static auto is_word(char c) -> bool {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  auto take() -> char {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  // White space, separators between fields, and comments.
  void skip() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      else if (std::string_view{" \t\r\n,;"}.find(rest_.front()) != std::string_view::npos) rest_.remove_prefix(1);
      else return;
    }
  }

  auto escaped(std::string& value) -> bool {
    if (rest_.empty()) return false;
    const char c = take();
    constexpr std::string_view names = "abfnrtv\\'\"?";
    constexpr std::string_view meant = "\a\b\f\n\r\t\v\\'\"?";
    if (const std::size_t at = names.find(c); at != std::string_view::npos) {
      value += meant[at];
      return true;
    }
    unsigned code = 0;
    const bool hex = c == 'x' || c == 'X';
    if (!hex) rest_ = {rest_.data() - 1, rest_.size() + 1};  // the digit belongs to the number
    const std::string_view digits = rest_.substr(0, hex ? 2 : 3);
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 8);
    if (failed != std::errc{} || code > 0xff) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - digits.data()));
    value += static_cast<char>(code);
    return true;
  }

  std::string_view rest_;
};

/// `text` in double quotes; what is not printable ASCII in three octal digits.
inline auto quoted(std::string_view text) -> std::string {
  const auto octal = [](unsigned bits) { return static_cast<char>('0' + (bits & 7)); };
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (byte >= 0x20 && byte < 0x7f) out += c;
    else (((out += '\\') += octal(byte >> 6)) += octal(byte >> 3)) += octal(byte);
  }
  return out += '"';
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
