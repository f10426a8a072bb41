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

/// A kind of token, as `JsonReader::next` returns it.
enum class JsonToken : std::uint8_t {
  begin_object,
  end_object,
  begin_array,
  end_array,
  name,  ///< The name of an object's member; its value follows.
  string,
  number,
  boolean,
  null,
  end,  ///< The end of the text, which was one complete value.
  error,  ///< The text is not JSON: `error()` says why and where. All later calls of `next` return it too.
};

/// Reads one JSON value (RFC 8259, strictly: no comments, no trailing commas, no byte order mark) token by token, in
/// the order of the text. Several members of an object with the same name are all returned.
///
///     JsonReader reader{text};
///     if (reader.next() == JsonToken::begin_object)
///       while (reader.next() == JsonToken::name) {
///         if (reader.text() == "index" && reader.next() == JsonToken::number) index = reader.int64();
///         else reader.skip();
///       }
///
/// A view: the text must outlive the reader. At most 64 levels of nesting. Allocates only for strings that contain an
/// escape.
///
/// Threads: one at a time.
class JsonReader {
 public:
  static constexpr std::size_t max_depth = 64;

  /// Begins in front of the first token of `text`.
  explicit JsonReader(std::string_view text) noexcept : text_{text} {}

  /// Goes to the next token and returns it.
  DISTRIB_DECL auto next() -> JsonToken;

  /// Skips a value: the one that begins at the current token, or the one after it if the current token is a name. Then
  /// the last token of the value is the current one. Does nothing at other tokens.
  void skip() {
    if (token_ == JsonToken::name) next();
    if (token_ != JsonToken::begin_object && token_ != JsonToken::begin_array) return;
    const std::size_t outside = depth_ - 1;
    while (depth_ != outside && next() != JsonToken::error) {
    }
  }

  /// Returns the result of the last `next`; `null` before the first call.
  [[nodiscard]] auto token() const noexcept -> JsonToken { return token_; }

  /// Returns the byte position of the current token in the text, or of the error.
  [[nodiscard]] auto offset() const noexcept -> std::size_t { return offset_; }

  /// Returns the characters of a name or string, unescaped, or a number as written. Valid until the next call of `next`
  /// or `skip`, and while this reader exists.
  [[nodiscard]] auto text() const noexcept -> std::string_view { return unescaped_.empty() ? value_ : unescaped_; }

  /// Returns the value of a boolean.
  [[nodiscard]] auto boolean() const noexcept -> bool { return text() == "true"; }

  /// Returns the exact value of a number without fraction and exponent. Empty if it has one of them or does not fit.
  [[nodiscard]] auto int64() const noexcept -> std::optional<std::int64_t> {
    return detail::parse_whole<std::int64_t>(text());
  }

  /// Returns the double nearest to a number. Empty if the number is too large or too small for a double (1e400,
  /// 1e-400).
  [[nodiscard]] auto float64() const noexcept -> std::optional<double> { return detail::parse_whole<double>(text()); }

  /// Returns the failure, with "offset N" as its place. Empty while there is none.
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

  /// Reads from the opening quote to behind the closing one. False on an error.
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
  std::string unescaped_;  // the text of the current token if it has an escape, otherwise empty
  std::size_t at_ = 0;
  std::size_t offset_ = 0;
  std::size_t depth_ = 0;
  // one bit per open level, the innermost in the lowest bit: 1 for an object, 0 for an array
  std::uint64_t objects_ = 0;
  std::error_code code_;
  JsonToken token_ = JsonToken::null;
  Expect expect_ = Expect::value;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/json.ipp>
#endif
