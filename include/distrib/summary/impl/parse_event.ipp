// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/parse_event.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/protowire.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

// Returns the field of a TensorProto that lists numbers of a type; 0 for types that are not numbers.
DISTRIB_DECL auto tensor_value_field(DType dtype) noexcept -> std::uint32_t {
  switch (dtype) {
    case DType::float32: return 5;
    case DType::float64: return 6;
    case DType::int32:
    case DType::int16:
    case DType::int8:
    case DType::uint16:
    case DType::uint8: return 7;
    case DType::int64: return 10;
    case DType::boolean: return 11;
    case DType::float16:
    case DType::bfloat16: return 13;
    case DType::uint32: return 16;
    case DType::uint64: return 17;
    case DType::string: break;
  }
  return 0;
}

// Returns the number that the low bytes of `bits` encode, as in a varint or in the bytes of a tensor.
DISTRIB_DECL auto tensor_number(DType dtype, std::uint64_t bits) noexcept -> double {
  switch (dtype) {
    case DType::float32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::float64: return std::bit_cast<double>(bits);
    case DType::int32: return static_cast<double>(static_cast<std::int32_t>(bits));
    case DType::int16: return static_cast<double>(static_cast<std::int16_t>(bits));
    case DType::int8: return static_cast<double>(static_cast<std::int8_t>(bits));
    case DType::int64: return static_cast<double>(static_cast<std::int64_t>(bits));
    case DType::uint8: return static_cast<double>(static_cast<std::uint8_t>(bits));
    case DType::uint16: return static_cast<double>(static_cast<std::uint16_t>(bits));
    case DType::uint32: return static_cast<double>(static_cast<std::uint32_t>(bits));
    case DType::uint64: return static_cast<double>(bits);
    case DType::boolean: return bits != 0 ? 1 : 0;
    case DType::float16: return static_cast<double>(from_float16(static_cast<std::uint16_t>(bits)));
    case DType::bfloat16: return static_cast<double>(from_bfloat16(static_cast<std::uint16_t>(bits)));
    case DType::string: break;
  }
  return 0;
}

// Returns the first `width` bytes as a little-endian number.
DISTRIB_DECL auto front_bits(ByteView bytes, std::size_t width) noexcept -> std::uint64_t {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < width; ++i) bits |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return bits;
}

// The numbers that a TensorProto lists.
struct ListedNumbers {
  std::size_t count = 0;
  std::uint64_t last = 0;
};

// Reads the numbers in `field`, packed or not. Returns false if they are damaged.
DISTRIB_DECL auto read_listed_numbers(ByteView tensor, std::uint32_t field, ListedNumbers& numbers) -> bool {
  const std::size_t width = field == 5 ? sizeof(float) : field == 6 ? sizeof(double) : 0;  // 0: varints
  const WireType single = field == 5 ? WireType::fixed32 : field == 6 ? WireType::fixed64 : WireType::varint;
  WireReader reader{tensor};
  while (reader.next()) {
    if (reader.field() != field) continue;
    if (reader.type() == single) numbers = {numbers.count + 1, reader.uint64()};
    ByteView packed = reader.bytes();
    while (!packed.empty()) {
      ++numbers.count;
      if (width == 0) {
        if (!read_varint(packed, numbers.last)) return false;
        continue;
      }
      if (packed.size() < width) return false;
      numbers.last = front_bits(packed, width);
      packed = packed.subspan(width);
    }
  }
  return reader.ok();
}

// Parses a TensorProto. Sets `number` if it has one element of a numeric type, and `what` to its type. Returns false if
// it is damaged.
DISTRIB_DECL auto parse_tensor_value(ByteView bytes, std::optional<double>& number, std::string& what) -> bool {
  std::uint64_t type = 0;
  std::string shape;
  bool one_element = true;
  ByteView content;
  WireReader tensor{bytes};
  while (tensor.next()) switch (tensor.tag()) {
      case wire_tag(1, WireType::varint): type = tensor.uint64(); break;
      case wire_tag(4, WireType::bytes): content = tensor.bytes(); break;
      case wire_tag(2, WireType::bytes): {
        WireReader axes{tensor.bytes()};
        while (axes.next()) {
          if (axes.tag() != wire_tag(2, WireType::bytes)) continue;
          std::int64_t extent = 0;
          WireReader axis{axes.bytes()};
          while (axis.next())
            if (axis.tag() == wire_tag(1, WireType::varint)) extent = axis.int64();
          if (!axis.ok()) return false;
          one_element = one_element && extent == 1;
          shape += (shape.empty() ? " [" : ",") + std::to_string(extent);
        }
        if (!axes.ok()) return false;
        break;
      }
    }
  if (!tensor.ok()) return false;
  const auto dtype = static_cast<DType>(type <= 0xFF ? type : 0);
  const std::uint32_t field = tensor_value_field(dtype);
  what = field != 0 || dtype == DType::string ? std::string{name(dtype)} : "type " + std::to_string(type);
  what += shape + (shape.empty() ? "" : "]");
  if (field == 0 || !one_element) return true;
  if (content.size() == size_bytes(dtype)) {
    number = tensor_number(dtype, front_bits(content, content.size()));
  } else if (!content.empty()) {
    what += " of " + std::to_string(content.size()) + " bytes";
  } else {
    ListedNumbers listed;
    if (!read_listed_numbers(bytes, field, listed)) return false;
    if (listed.count > 1) what += " of " + std::to_string(listed.count) + " values";
    else number = tensor_number(dtype, listed.last);  // none: a writer may omit a zero
  }
  return true;
}

// Parses plugin and data class of a SummaryMetadata. Returns false if it is damaged.
DISTRIB_DECL auto parse_summary_metadata(ByteView bytes, ScalarEvent& scalar) -> bool {
  bool good = true;
  WireReader metadata{bytes};
  while (metadata.next()) {
    if (metadata.tag() == wire_tag(4, WireType::varint)) {
      const std::uint64_t data_class = metadata.uint64();
      scalar.data_class =
          data_class <= 3 ? static_cast<ScalarEvent::DataClass>(data_class) : ScalarEvent::DataClass::unknown;
    }
    if (metadata.tag() != wire_tag(1, WireType::bytes)) continue;
    WireReader plugin{metadata.bytes()};
    while (plugin.next())
      if (plugin.tag() == wire_tag(1, WireType::bytes)) scalar.plugin_name = plugin.text();
    good = good && plugin.ok();
  }
  return good && metadata.ok();
}

// Parses one Summary.Value. If it has several kinds of value, the last one counts.
DISTRIB_DECL auto parse_summary_value(ByteView bytes, ParsedEvent& event) -> bool {
  ScalarEvent scalar;
  std::string_view node_name;  // used by the oldest writers instead of a tag
  std::optional<double> number;
  std::string what;
  bool simple = false;  // the form of TensorFlow 1, which is a point for any metadata
  const auto is = [&](const char* kind) {
    number.reset();
    what = kind;
    simple = false;
  };
  bool good = true;
  WireReader entry{bytes};
  while (good && entry.next()) switch (entry.tag()) {
      case wire_tag(1, WireType::bytes): scalar.tag = entry.text(); break;
      case wire_tag(7, WireType::bytes): node_name = entry.text(); break;
      case wire_tag(2, WireType::fixed32):
        number = static_cast<double>(entry.float32());
        simple = true;
        break;
      case wire_tag(3, WireType::bytes):
      case wire_tag(5, WireType::bytes): is("histogram"); break;
      case wire_tag(4, WireType::bytes): is("image"); break;
      case wire_tag(6, WireType::bytes): is("audio"); break;
      case wire_tag(8, WireType::bytes):
        is("tensor");
        good = parse_tensor_value(entry.bytes(), number, what);
        break;
      case wire_tag(9, WireType::bytes): good = parse_summary_metadata(entry.bytes(), scalar); break;
    }
  if (!good || !entry.ok()) return false;
  if (scalar.tag.empty()) scalar.tag = node_name;
  const bool in_curve = simple || scalar.plugin_name.empty() || scalar.plugin_name == "scalars";
  if (number && in_curve) {
    scalar.value = *number;
    event.scalars.push_back(std::move(scalar));
  } else if (number || !what.empty()) {
    event.others.push_back({std::move(scalar.tag), in_curve ? std::move(what) : std::move(scalar.plugin_name)});
  }
  return true;
}

// Parses a Summary.
DISTRIB_DECL auto parse_summary(ByteView bytes, ParsedEvent& event) -> bool {
  WireReader summary{bytes};
  while (summary.next())
    if (summary.tag() == wire_tag(1, WireType::bytes) && !parse_summary_value(summary.bytes(), event)) return false;
  return summary.ok();
}

// Parses a SessionLog.
DISTRIB_DECL auto parse_session(ByteView bytes, ParsedEvent& event) -> bool {
  WireReader log{bytes};
  while (log.next())
    if (log.tag() == wire_tag(1, WireType::varint) && log.uint64() >= 1 && log.uint64() <= 3)
      event.session = static_cast<SessionStatus>(log.uint64());
  return log.ok();
}

}  // namespace detail

DISTRIB_DECL auto parse_event(ByteView bytes, ParsedEvent& event) -> bool {
  event = {};
  double wall_time = 0;
  WireReader reader{bytes};
  while (reader.next()) {
    bool known = true;
    switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): wall_time = reader.float64(); break;
      case wire_tag(2, WireType::varint): event.step = reader.int64(); break;
      case wire_tag(3, WireType::bytes): event.file_version = reader.text(); break;
      case wire_tag(5, WireType::bytes):
        if (!detail::parse_summary(reader.bytes(), event)) return false;
        break;
      case wire_tag(7, WireType::bytes):
        if (!detail::parse_session(reader.bytes(), event)) return false;
        break;
      default: known = reader.type() == WireType::bytes && reader.field() >= 4 && reader.field() <= 10;  // graphs, logs
    }
    event.is_event = event.is_event || known;
  }
  for (ScalarEvent& scalar : event.scalars) {
    scalar.wall_time = wall_time;
    scalar.step = event.step;
  }
  return reader.ok();
}

}  // namespace v0
}  // namespace distrib
