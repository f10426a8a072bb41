// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a text is no JSON.
enum class json_errc {
  unexpected_end = 1,    ///< The text ends inside a value. Look whether it was cut short.
  unexpected_character,  ///< Something stands where JSON has no place for it. Look for commas and comments.
  bad_number,            ///< Not JSON's form of a number. Write no leading zeros, no plus, digits around the point.
  bad_escape,            ///< A backslash is followed by nothing JSON knows, or half a surrogate pair stands alone.
  control_character,     ///< A string holds a raw control character. Write it as an escape.
  bad_utf8,              ///< A string holds bytes that are no UTF-8. Save the text as UTF-8.
  too_deep,              ///< Arrays and objects lie more than 64 deep in each other. Flatten the text.
  trailing_text,         ///< Something follows the value. Keep one value a text.
};

namespace detail {
inline constexpr ErrorText json_texts[] = {
    {json_errc::unexpected_end, failure::invalid_argument, "the JSON text ends too early"},
    {json_errc::unexpected_character, failure::invalid_argument, "the JSON text has an unexpected character"},
    {json_errc::bad_number, failure::invalid_argument, "not a JSON number"},
    {json_errc::bad_escape, failure::invalid_argument, "not an escape of JSON strings"},
    {json_errc::control_character, failure::invalid_argument, "a control character in a JSON string must be escaped"},
    {json_errc::bad_utf8, failure::invalid_argument, "the JSON string is not UTF-8"},
    {json_errc::too_deep, failure::exhausted, "the JSON text is nested deeper than 64"},
    {json_errc::trailing_text, failure::invalid_argument, "something follows the JSON value"},
};
}  // namespace detail

/// Category "distrib.json".
[[nodiscard]] inline auto json_category() noexcept -> const std::error_category& {
  static const detail::TableCategory category{"distrib.json", detail::json_texts};
  return category;
}

[[nodiscard]] inline auto make_error_code(json_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), json_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::json_errc> : std::true_type {};

namespace distrib {
inline namespace v0 {

/// What `JsonReader::next` found.
enum class JsonToken : std::uint8_t {
  begin_object,
  end_object,
  begin_array,
  end_array,
  name,  ///< Of an object's member; its value comes next.
  string,
  number,
  boolean,
  null,
  end,    ///< The text is over, and was one whole value.
  error,  ///< `error()` says which and where; stays.
};

/// Reads one JSON value (RFC 8259, strictly: no comments, no trailing commas, no byte order mark) token by token, in
/// the order of the text. Members with equal names all come.
///
///     JsonReader reader{text};
///     if (reader.next() == JsonToken::begin_object)
///       while (reader.next() == JsonToken::name) {
///         if (reader.text() == "index" && reader.next() == JsonToken::number) index = reader.int64();
///         else reader.skip();
///       }
///
/// A view: the text must outlive the reader. Nested at most 64 deep. Allocates only for strings that hold an escape.
/// One thread at a time.
class JsonReader {
 public:
  static constexpr std::size_t max_depth = 64;

  explicit JsonReader(std::string_view text) noexcept : text_{text} {}

  /// Goes to the next token.
  auto next() -> JsonToken {
    if (token_ == JsonToken::error || token_ == JsonToken::end) return token_;
    skip_space();
    offset_ = at_;
    return token_ = read();
  }

  /// Passes over a value: the one that begins at the current token, or after it when that is a name. Afterwards the
  /// current token is the value's last. Nothing happens at other tokens.
  void skip() {
    if (token_ == JsonToken::name) next();
    if (token_ != JsonToken::begin_object && token_ != JsonToken::begin_array) return;
    const std::size_t outside = depth_ - 1;
    while (depth_ != outside && next() != JsonToken::error) {
    }
  }

  /// What `next` returned last; `null` before the first call.
  [[nodiscard]] auto token() const noexcept -> JsonToken { return token_; }

  /// Byte position of the current token in the text, or of the error.
  [[nodiscard]] auto offset() const noexcept -> std::size_t { return offset_; }

  /// Of a name or string: its characters, valid until the next call of `next` or `skip`. Of a number: as written.
  [[nodiscard]] auto text() const noexcept -> std::string_view { return value_; }

  /// Of a boolean.
  [[nodiscard]] auto boolean() const noexcept -> bool { return value_ == "true"; }

  /// Of a number without fraction and exponent: its exact value; empty when it has one, or does not fit.
  [[nodiscard]] auto int64() const noexcept -> std::optional<std::int64_t> {
    return detail::parse_whole<std::int64_t>(value_);
  }

  /// Of a number: the nearest double; empty when its size is beyond a double (1e400, and 1e-400 too).
  [[nodiscard]] auto float64() const noexcept -> std::optional<double> { return detail::parse_whole<double>(value_); }

  /// The failure, with "offset N" as its place; empty while there is none.
  [[nodiscard]] auto error() const -> Error {
    if (!code_) return {};
    return {code_, "offset " + std::to_string(offset_)};
  }

 private:
  enum class Expect : std::uint8_t { value, first_element, first_member, comma };

  auto read() -> JsonToken {
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

  auto read_value() -> JsonToken {
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

  auto read_name() -> JsonToken {
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

  auto open(bool object) -> JsonToken {
    if (depth_ == max_depth) return fail(json_errc::too_deep);
    objects_ = objects_ << 1 | (object ? 1 : 0);
    ++depth_;
    ++at_;
    expect_ = object ? Expect::first_member : Expect::first_element;
    return object ? JsonToken::begin_object : JsonToken::begin_array;
  }

  auto close() -> JsonToken {
    const bool object = in_object();
    objects_ >>= 1;
    --depth_;
    ++at_;
    expect_ = Expect::comma;
    return object ? JsonToken::end_object : JsonToken::end_array;
  }

  auto read_word(std::string_view word, JsonToken token) -> JsonToken {
    for (const char letter : word) {
      if (at_ == text_.size()) return fail(json_errc::unexpected_end);
      if (text_[at_] != letter) return fail(json_errc::unexpected_character);
      ++at_;
    }
    value_ = word;
    return token;
  }

  auto read_number() -> JsonToken {
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

  /// From the opening quote to behind the closing one.
  auto read_string() -> bool {
    std::size_t first = ++at_;
    bool escaped = false;
    while (true) {
      if (at_ == text_.size()) return refuse(json_errc::unexpected_end);
      const auto lead = static_cast<unsigned char>(text_[at_]);
      if (lead == '"') break;
      if (lead < 0x20) return refuse(json_errc::control_character);
      if (lead == '\\') {
        if (!escaped) unescaped_.clear();
        escaped = true;
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
    if (escaped) value_ = unescaped_.append(value_);
    ++at_;
    return true;
  }

  auto read_escape() -> bool {
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
    if (good && character >= 0xD800 && character < 0xE000) {  // the first half of a pair; the second must follow
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

  auto read_hex(unsigned& value) noexcept -> bool {
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

  auto refuse(json_errc code) noexcept -> bool {
    code_ = code;
    offset_ = at_;
    return false;
  }
  auto fail(json_errc code) noexcept -> JsonToken {
    refuse(code);
    return JsonToken::error;
  }

  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view{" \t\n\r"}.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  auto pass(char expected) noexcept -> bool {
    if (at_ == text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] auto is_digit() const noexcept -> bool {
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }
  auto pass_digits() noexcept -> bool {
    if (!is_digit()) return false;
    while (is_digit()) ++at_;
    return true;
  }
  [[nodiscard]] auto in_object() const noexcept -> bool { return (objects_ & 1) != 0; }

  std::string_view text_;
  std::string_view value_;
  std::string unescaped_;
  std::size_t at_ = 0;
  std::size_t offset_ = 0;
  std::size_t depth_ = 0;
  std::uint64_t objects_ = 0;  // one bit a level, the innermost lowest: 1 for an object, 0 for an array
  std::error_code code_;
  JsonToken token_ = JsonToken::null;
  Expect expect_ = Expect::value;
};

}  // namespace v0
}  // namespace distrib
