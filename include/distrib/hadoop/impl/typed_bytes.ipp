// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/typed_bytes.hpp>

#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>

#include <algorithm>

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

DISTRIB_DECL auto TypedBytes::read(WritableReader& reader, std::size_t most) -> ByteView {
  const std::size_t before = reader.used();
  reader.raw(passed_);
  while (!reader.error() && (passed_ == 0 || !missing_.empty())) {
    pass_part(reader, most - passed_);
    if (reader.error()) break;
    passed_ = reader.used() - before;
    if (passed_ > most) reader.refuse(hadoop_errc::too_large);
  }
  return reader.error() ? ByteView{} : reader.since(before);
}

DISTRIB_DECL void TypedBytes::pass_part(WritableReader& reader, std::size_t room) {
  constexpr std::uint8_t end_of_list = 255;
  constexpr std::size_t deepest = 32;
  constexpr std::size_t before_content = 5;  // the code and a length or count
  const std::uint8_t code = reader.byte();
  if (reader.error()) return;
  if (code == end_of_list && !missing_.empty() && missing_.back() == endless) {
    missing_.pop_back();
  } else {
    if (missing_.size() == deepest) return reader.refuse(hadoop_errc::too_large);
    const std::size_t most = room - std::min(room, before_content);
    std::int64_t inside = 0;
    switch (static_cast<TypedCode>(code)) {
      case TypedCode::byte:
      case TypedCode::boolean: reader.raw(1); break;
      case TypedCode::int32:
      case TypedCode::float32: reader.raw(4); break;
      case TypedCode::int64:
      case TypedCode::float64: reader.raw(8); break;
      case TypedCode::bytes:
      case TypedCode::string:
      case TypedCode::writable: reader.long_bytes(most); break;
      case TypedCode::vector: inside = reader.count(most); break;
      case TypedCode::map: inside = 2 * std::int64_t{reader.count(most / 2)}; break;
      case TypedCode::list: inside = endless; break;
      default: reader.refuse(hadoop_errc::bad_type);
    }
    if (reader.error()) return;
    if (inside != 0) return missing_.push_back(inside);
  }
  // A value is complete. If it is the last one of a vector or map, that is complete too, and so on outwards.
  while (!missing_.empty() && missing_.back() != endless && --missing_.back() == 0) missing_.pop_back();
}

DISTRIB_DECL auto typed_value(ByteView typed, std::error_code& ec) -> TypedValue {
  WritableReader reader{typed};
  ByteView all = TypedBytes{}.read(reader, typed.size());
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
