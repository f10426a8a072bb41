// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/json.hpp>

#include <distrib/core/utf8.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto JsonReader::next() -> JsonToken {
  if (token_ == JsonToken::error || token_ == JsonToken::end) return token_;
  skip_space();
  offset_ = at_;
  unescaped_.clear();
  return token_ = read();
}

DISTRIB_DECL auto JsonReader::read() -> JsonToken {
  if (at_ == text_.size() && !(expect_ == Expect::comma && depth_ == 0)) return fail(json_errc::unexpected_end);
  switch (expect_) {
    case Expect::value: return read_value();
    case Expect::first_element: return text_[at_] == ']' ? close() : read_value();
    case Expect::first_member: return text_[at_] == '}' ? close() : read_name();
    case Expect::comma: break;
  }
  if (depth_ == 0) return at_ == text_.size() ? JsonToken::end : fail(json_errc::trailing_text);
  if (text_[at_] == (in_object() ? '}' : ']')) return close();
  if (text_[at_] != ',') return fail(json_errc::unexpected_character);
  ++at_;
  skip_space();
  offset_ = at_;
  return in_object() ? read_name() : read_value();
}

DISTRIB_DECL auto JsonReader::read_value() -> JsonToken {
  expect_ = Expect::comma;
  if (at_ == text_.size()) return fail(json_errc::unexpected_end);
  switch (text_[at_]) {
    case '{': return open(true);
    case '[': return open(false);
    case '"': return read_string() ? JsonToken::string : JsonToken::error;
    case 't': return read_word("true", JsonToken::boolean);
    case 'f': return read_word("false", JsonToken::boolean);
    case 'n': return read_word("null", JsonToken::null);
    default: return read_number();
  }
}

DISTRIB_DECL auto JsonReader::read_name() -> JsonToken {
  if (at_ == text_.size()) return fail(json_errc::unexpected_end);
  if (text_[at_] != '"') return fail(json_errc::unexpected_character);
  if (!read_string()) return JsonToken::error;
  skip_space();
  if (at_ == text_.size()) return fail(json_errc::unexpected_end);
  if (text_[at_] != ':') return fail(json_errc::unexpected_character);
  ++at_;
  expect_ = Expect::value;
  return JsonToken::name;
}

DISTRIB_DECL auto JsonReader::open(bool object) -> JsonToken {
  if (depth_ == max_depth) return fail(json_errc::too_deep);
  objects_ = objects_ << 1 | (object ? 1 : 0);
  ++depth_;
  ++at_;
  expect_ = object ? Expect::first_member : Expect::first_element;
  return object ? JsonToken::begin_object : JsonToken::begin_array;
}

DISTRIB_DECL auto JsonReader::close() -> JsonToken {
  const bool object = in_object();
  objects_ >>= 1;
  --depth_;
  ++at_;
  expect_ = Expect::comma;
  return object ? JsonToken::end_object : JsonToken::end_array;
}

DISTRIB_DECL auto JsonReader::read_word(std::string_view word, JsonToken token) -> JsonToken {
  for (const char letter : word) {
    if (at_ == text_.size()) return fail(json_errc::unexpected_end);
    if (text_[at_] != letter) return fail(json_errc::unexpected_character);
    ++at_;
  }
  value_ = word;
  return token;
}

DISTRIB_DECL auto JsonReader::read_number() -> JsonToken {
  const std::size_t first = at_;
  const bool minus = pass('-');
  if (!minus && !is_digit()) return fail(json_errc::unexpected_character);
  if (!pass('0') && !pass_digits()) return fail(json_errc::bad_number);
  if (is_digit()) return fail(json_errc::bad_number);  // a leading zero
  if (pass('.') && !pass_digits()) return fail(json_errc::bad_number);
  if (pass('e') || pass('E')) {
    if (!pass('+')) pass('-');
    if (!pass_digits()) return fail(json_errc::bad_number);
  }
  value_ = text_.substr(first, at_ - first);
  return JsonToken::number;
}

DISTRIB_DECL auto JsonReader::read_string() -> bool {
  std::size_t first = ++at_;
  while (true) {
    if (at_ == text_.size()) return refuse(json_errc::unexpected_end);
    const auto lead = static_cast<unsigned char>(text_[at_]);
    if (lead == '"') break;
    if (lead < 0x20) return refuse(json_errc::control_character);
    if (lead == '\\') {
      unescaped_.append(text_, first, at_ - first);
      if (!read_escape()) return false;
      first = at_;
      continue;
    }
    const std::size_t length = detail::utf8_length(text_.substr(at_));
    if (length == 0) return refuse(json_errc::bad_utf8);
    at_ += length;
  }
  value_ = text_.substr(first, at_ - first);
  if (!unescaped_.empty()) unescaped_.append(value_);
  ++at_;
  return true;
}

DISTRIB_DECL auto JsonReader::read_escape() -> bool {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const std::size_t backslash = at_++;
  if (at_ == text_.size()) return refuse(json_errc::unexpected_end);
  const char letter = text_[at_++];
  if (const std::size_t known = letters.find(letter); known != std::string_view::npos) {
    unescaped_ += meanings[known];
    return true;
  }
  unsigned character = 0;
  bool good = letter == 'u' && read_hex(character);
  // first half of a surrogate pair; the second half must follow
  if (good && character >= 0xD800 && character < 0xE000) {
    unsigned low = 0;
    good = character < 0xDC00 && pass('\\') && pass('u') && read_hex(low) && low >= 0xDC00 && low < 0xE000;
    character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
  }
  if (!good) {
    if (letter == 'u' && at_ == text_.size()) return refuse(json_errc::unexpected_end);
    at_ = backslash;
    return refuse(json_errc::bad_escape);
  }
  detail::append_utf8(unescaped_, character);
  return true;
}

DISTRIB_DECL auto JsonReader::read_hex(unsigned& value) noexcept -> bool {
  value = 0;
  for (int digit = 0; digit < 4; ++digit, ++at_) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_];
    const int nibble = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (nibble < 0) return false;
    value = value << 4 | static_cast<unsigned>(nibble);
  }
  return true;
}

}  // namespace v0
}  // namespace distrib
