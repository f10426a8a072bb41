// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/text_form.hpp>

#include <charconv>
#include <cstddef>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto TextFields::name(std::string& name) -> bool {
  skip();
  name.clear();
  while (!rest_.empty() && is_word(rest_.front())) name += take();
  skip();
  return !name.empty() && !rest_.empty() && take() == ':';
}

DISTRIB_DECL auto TextFields::text(std::string& value) -> bool {
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

DISTRIB_DECL auto TextFields::number(double& value) -> bool {
  skip();
  const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (failed != std::errc{}) return false;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return rest_.empty() || !is_word(rest_.front());
}

DISTRIB_DECL auto TextFields::escaped(std::string& value) -> bool {
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

DISTRIB_DECL auto quoted(std::string_view text) -> std::string {
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
