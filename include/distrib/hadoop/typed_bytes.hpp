// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/hadoop/writable.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// The type codes of Streaming's typedbytes. The comments say what follows the code.
enum class TypedCode : std::uint8_t {
  bytes = 0,      ///< int32 length, bytes.
  byte = 1,       ///< One byte.
  boolean = 2,    ///< One byte, 0 or 1.
  int32 = 3,      ///< Big-endian.
  int64 = 4,      ///< Big-endian.
  float32 = 5,    ///< Big-endian.
  float64 = 6,    ///< Big-endian.
  string = 7,     ///< int32 length, UTF-8.
  vector = 8,     ///< int32 count, typed values.
  list = 9,       ///< Typed values until code 255.
  map = 10,       ///< int32 count, typed keys and values in turn.
  writable = 50,  ///< int32 length; int16 length and name of its class; the object as it serialises itself.
};

/// Appends one typed value.
inline void append_typed(Bytes& to, std::int32_t value) {
  to.push_back(static_cast<std::byte>(TypedCode::int32));
  detail::append_big_endian(to, value);
}
inline void append_typed(Bytes& to, std::int64_t value) {
  to.push_back(static_cast<std::byte>(TypedCode::int64));
  detail::append_big_endian(to, value);
}
inline void append_typed(Bytes& to, double value) {
  to.push_back(static_cast<std::byte>(TypedCode::float64));
  detail::append_big_endian(to, std::bit_cast<std::uint64_t>(value));
}
inline void append_typed(Bytes& to, std::string_view value) {
  to.push_back(static_cast<std::byte>(TypedCode::string));
  detail::append_big_endian(to, static_cast<std::uint32_t>(value.size()));
  detail::append_raw(to, as_bytes(value));
}
inline void append_typed(Bytes& to, ByteView value) {
  to.push_back(static_cast<std::byte>(TypedCode::bytes));
  detail::append_big_endian(to, static_cast<std::uint32_t>(value.size()));
  detail::append_raw(to, value);
}

/// One typed value: its code and the bytes behind it. For bytes, strings and writables, `body` is without the length.
struct TypedValue {
  TypedCode code{};  ///< Type of the value.
  ByteView body;  ///< A view of what was read.

  /// Returns the content of bytes or a string. For a `writable`: its serialised form, without the name of its class;
  /// empty if it is damaged. For every other type: `body`.
  [[nodiscard]] DISTRIB_DECL auto bytes() const -> ByteView;

  /// Returns the value of a whole number or a boolean; nothing for other types.
  [[nodiscard]] DISTRIB_DECL auto integer() const noexcept -> std::optional<std::int64_t>;

  /// Returns the value of a number of any kind; nothing for other types.
  [[nodiscard]] DISTRIB_DECL auto real() const noexcept -> std::optional<double>;
};

/// Streaming's `-io typedbytes`. A mapper gets each key and each value as one typed value with its code; `typed_value`
/// parses it. Make what you emit with `append_typed`. A value; each object reads one value, which may arrive in pieces.
class TypedBytes {
 public:
  /// Reads the value at the front of `reader`, with its code, at most `most` bytes.
  ///
  /// Errors: `hadoop_errc::bad_type` for an unknown code; `bad_number` for a negative length; `too_large` for values
  /// nested more than 32 levels deep, or for a longer value, before more than 9 bytes beyond `most` have arrived;
  /// `truncated` if the bytes end too early: call it again with a reader of the same bytes and more behind them. It
  /// then continues where it stopped, so that a long vector, list or map is parsed once.
  DISTRIB_DECL auto read(WritableReader& reader, std::size_t most) -> ByteView;

  /// Appends a value that is already typed.
  static void append(Bytes& to, ByteView typed) { detail::append_raw(to, typed); }

 private:
  static constexpr std::int64_t endless = -1;

  /// Passes one code and what follows it up to the first value inside, or the end of a list. `room`: bytes that the
  /// value may still have.
  DISTRIB_DECL void pass_part(WritableReader& reader, std::size_t room);

  std::size_t passed_ = 0;  // bytes of the parts that were passed
  std::vector<std::int64_t>
      missing_;  // in each vector, list and map around the next part: how many values still follow
};

/// Parses one typed value. The result points into `typed`.
///
/// Errors: `hadoop_errc::bad_type` for an unknown code; `bad_number` for a negative length, and for bytes behind the
/// value; `too_large` for values nested more than 32 levels deep; `too_large` or `truncated` if the bytes end too
/// early. The result is then empty.
[[nodiscard]] DISTRIB_DECL auto typed_value(ByteView typed, std::error_code& ec) -> TypedValue;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto typed_value(ByteView typed) -> TypedValue;

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/typed_bytes.ipp>
#endif
