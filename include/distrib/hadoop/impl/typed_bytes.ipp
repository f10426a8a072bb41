// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/typed_bytes.hpp>

#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto TypedValue::bytes() const -> ByteView {
  if (code != TypedCode::writable) return body;
  WritableReader reader{body};
  reader.raw(reader.big_endian<std::uint16_t>());
  return reader.error() ? ByteView{} : body.subspan(reader.used());
}

DISTRIB_DECL auto TypedValue::integer() const noexcept -> std::optional<std::int64_t> {
  WritableReader reader{body};
  switch (code) {
    case TypedCode::byte: return static_cast<std::int8_t>(reader.byte());
    case TypedCode::boolean: return reader.byte();
    case TypedCode::int32: return static_cast<std::int32_t>(reader.big_endian<std::uint32_t>());
    case TypedCode::int64: return reader.big_endian<std::int64_t>();
    default: return std::nullopt;
  }
}

DISTRIB_DECL auto TypedValue::real() const noexcept -> std::optional<double> {
  WritableReader reader{body};
  if (code == TypedCode::float32) return reader.real();
  if (code == TypedCode::float64) return std::bit_cast<double>(reader.big_endian<std::uint64_t>());
  const auto whole = integer();
  return whole ? std::optional{static_cast<double>(*whole)} : std::nullopt;
}

namespace detail {

// Skips one value, which may contain other values, up to `depth` levels deep.
DISTRIB_DECL void skip_typed(WritableReader& reader, std::size_t most, int depth) noexcept {
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

DISTRIB_DECL auto TypedBytes::read(WritableReader& reader, std::size_t most) -> ByteView {
  const std::size_t before = reader.used();
  detail::skip_typed(reader, most, 32);
  if (reader.used() - before > most) reader.refuse(hadoop_errc::too_large);
  return reader.error() ? ByteView{} : reader.since(before);
}

DISTRIB_DECL auto typed_value(ByteView typed, std::error_code& ec) -> TypedValue {
  WritableReader reader{typed};
  ByteView all = TypedBytes::read(reader, typed.size());
  if (!reader.error() && reader.used() != typed.size()) reader.refuse(hadoop_errc::bad_number);
  ec = reader.error();
  if (ec) return {};
  const auto code = static_cast<TypedCode>(all[0]);
  const bool has_length = code == TypedCode::bytes || code == TypedCode::string || code == TypedCode::writable;
  return {code, all.subspan(has_length ? 5 : 1)};
}

DISTRIB_DECL auto typed_value(ByteView typed) -> TypedValue {
  std::error_code ec;
  const TypedValue value = typed_value(typed, ec);
  if (ec) throw_error(ec, "a typed value");
  return value;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
