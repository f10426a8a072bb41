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

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// The codes of Streaming's typedbytes.
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

/// Adds one typed value.
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

/// One typed value, as its code and the bytes behind that; those of what has a length are without it.
struct TypedValue {
  TypedCode code{};
  ByteView body;

  /// Of bytes and strings: they. Of a `writable`: what it serialised itself to, behind the name of its class.
  [[nodiscard]] DISTRIB_DECL auto bytes() const -> ByteView;

  /// Of a whole number or a boolean: it; else empty.
  [[nodiscard]] DISTRIB_DECL auto integer() const noexcept -> std::optional<std::int64_t>;

  /// Of a number of any kind: it; else empty.
  [[nodiscard]] DISTRIB_DECL auto real() const noexcept -> std::optional<double>;
};

/// Streaming's `-io typedbytes`. What a mapper sees as a key or a value is one typed value with its code, so that it
/// says what it is; `typed_value` takes it apart. What is emitted is made by `append_typed`.
struct TypedBytes {
  /// The next value of `reader`, code and all, no longer than `most`. Fails with `hadoop_errc::bad_type`, or
  /// `too_large` for values within values deeper than 32.
  DISTRIB_DECL static auto read(WritableReader& reader, std::size_t most) -> ByteView;

  /// Adds a value that is typed already.
  static void append(Bytes& to, ByteView typed) { detail::append_raw(to, typed); }
};

/// Takes one typed value apart. Fails as `TypedBytes::read` does, and with `hadoop_errc::bad_number` for bytes behind
/// it.
[[nodiscard]] DISTRIB_DECL auto typed_value(ByteView typed, std::error_code& ec) -> TypedValue;

/// The same; throws `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto typed_value(ByteView typed) -> TypedValue;

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/typed_bytes.ipp>
#endif
