// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
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
  append_big_endian(to, value);
}
inline void append_typed(Bytes& to, std::int64_t value) {
  to.push_back(static_cast<std::byte>(TypedCode::int64));
  append_big_endian(to, value);
}
inline void append_typed(Bytes& to, double value) {
  to.push_back(static_cast<std::byte>(TypedCode::float64));
  append_big_endian(to, std::bit_cast<std::uint64_t>(value));
}
inline void append_typed(Bytes& to, std::string_view value) {
  to.push_back(static_cast<std::byte>(TypedCode::string));
  append_big_endian(to, static_cast<std::uint32_t>(value.size()));
  append_raw(to, as_bytes(value));
}
inline void append_typed(Bytes& to, ByteView value) {
  to.push_back(static_cast<std::byte>(TypedCode::bytes));
  append_big_endian(to, static_cast<std::uint32_t>(value.size()));
  append_raw(to, value);
}

/// One typed value, as its code and the bytes behind that; those of what has a length are without it.
struct TypedValue {
  TypedCode code{};
  ByteView body;

  /// Of bytes and strings: they. Of a `writable`: what it serialised itself to, behind the name of its class.
  [[nodiscard]] auto bytes() const -> ByteView {
    if (code != TypedCode::writable) return body;
    WritableReader reader{body};
    reader.raw(reader.big_endian<std::uint16_t>());
    return reader.error() ? ByteView{} : body.subspan(reader.used());
  }

  /// Of a whole number or a boolean: it; else empty.
  [[nodiscard]] auto integer() const noexcept -> std::optional<std::int64_t> {
    WritableReader reader{body};
    switch (code) {
      case TypedCode::byte: return static_cast<std::int8_t>(reader.byte());
      case TypedCode::boolean: return reader.byte();
      case TypedCode::int32: return static_cast<std::int32_t>(reader.big_endian<std::uint32_t>());
      case TypedCode::int64: return reader.big_endian<std::int64_t>();
      default: return std::nullopt;
    }
  }

  /// Of a number of any kind: it; else empty.
  [[nodiscard]] auto real() const noexcept -> std::optional<double> {
    WritableReader reader{body};
    if (code == TypedCode::float32) return reader.real();
    if (code == TypedCode::float64) return std::bit_cast<double>(reader.big_endian<std::uint64_t>());
    const auto whole = integer();
    return whole ? std::optional{static_cast<double>(*whole)} : std::nullopt;
  }
};

namespace detail {

/// Passes over one value, which may hold others, `depth` levels of them.
inline void skip_typed(WritableReader& reader, std::size_t most, int depth) noexcept {
  if (depth == 0) return reader.refuse(hadoop_errc::too_large);
  constexpr std::uint8_t end_of_list = 255;
  const std::uint8_t code = reader.byte();
  if (reader.error()) return;
  switch (static_cast<TypedCode>(code)) {
    case TypedCode::byte:
    case TypedCode::boolean: reader.raw(1); return;
    case TypedCode::int32:
    case TypedCode::float32: reader.raw(4); return;
    case TypedCode::int64:
    case TypedCode::float64: reader.raw(8); return;
    case TypedCode::bytes:
    case TypedCode::string:
    case TypedCode::writable: reader.long_bytes(most); return;
    case TypedCode::vector:
    case TypedCode::map: {
      const auto count = static_cast<std::int32_t>(reader.big_endian<std::uint32_t>());
      if (count < 0) return reader.refuse(hadoop_errc::bad_number);
      const std::int64_t values = static_cast<TypedCode>(code) == TypedCode::map ? 2 * std::int64_t{count} : count;
      for (std::int64_t i = 0; i < values && !reader.error(); ++i) skip_typed(reader, most, depth - 1);
      return;
    }
    case TypedCode::list:
      while (!reader.error()) {
        WritableReader ahead = reader;
        if (ahead.byte() == end_of_list && !ahead.error()) return static_cast<void>(reader.byte());
        skip_typed(reader, most, depth - 1);
      }
      return;
  }
  reader.refuse(hadoop_errc::bad_type);
}

}  // namespace detail

/// Streaming's `-io typedbytes`. What a mapper sees as a key or a value is one typed value with its code, so that it
/// says what it is; `typed_value` takes it apart. What is emitted is made by `append_typed`.
struct TypedBytes {
  /// The next value of `reader`, code and all, no longer than `most`. Fails with `hadoop_errc::bad_type`, or
  /// `too_large` for values within values deeper than 32.
  static auto read(WritableReader& reader, std::size_t most) -> ByteView {
    const std::size_t before = reader.used();
    detail::skip_typed(reader, most, 32);
    if (reader.used() - before > most) reader.refuse(hadoop_errc::too_large);
    return reader.error() ? ByteView{} : reader.since(before);
  }

  /// Adds a value that is typed already.
  static void append(Bytes& to, ByteView typed) { append_raw(to, typed); }
};

/// Takes one typed value apart. Fails as `TypedBytes::read` does, and with `hadoop_errc::bad_number` for bytes behind
/// it.
[[nodiscard]] inline auto typed_value(ByteView typed, std::error_code& ec) -> TypedValue {
  WritableReader reader{typed};
  ByteView all = TypedBytes::read(reader, typed.size());
  if (!reader.error() && reader.used() != typed.size()) reader.refuse(hadoop_errc::bad_number);
  ec = reader.error();
  if (ec) return {};
  const auto code = static_cast<TypedCode>(all[0]);
  const bool has_length = code == TypedCode::bytes || code == TypedCode::string || code == TypedCode::writable;
  return {code, all.subspan(has_length ? 5 : 1)};
}

/// The same; throws `std::system_error`.
[[nodiscard]] inline auto typed_value(ByteView typed) -> TypedValue {
  std::error_code ec;
  const TypedValue value = typed_value(typed, ec);
  if (ec) throw_error(ec, "a typed value");
  return value;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
