// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/json_error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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
  DISTRIB_DECL auto next() -> JsonToken;

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

  DISTRIB_DECL auto read() -> JsonToken;

  DISTRIB_DECL auto read_value() -> JsonToken;

  DISTRIB_DECL auto read_name() -> JsonToken;

  DISTRIB_DECL auto open(bool object) -> JsonToken;

  DISTRIB_DECL auto close() -> JsonToken;

  DISTRIB_DECL auto read_word(std::string_view word, JsonToken token) -> JsonToken;

  DISTRIB_DECL auto read_number() -> JsonToken;

  /// From the opening quote to behind the closing one.
  DISTRIB_DECL auto read_string() -> bool;

  DISTRIB_DECL auto read_escape() -> bool;

  DISTRIB_DECL auto read_hex(unsigned& value) noexcept -> bool;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/json.ipp>
#endif
