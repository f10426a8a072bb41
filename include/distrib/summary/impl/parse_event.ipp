// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/parse_event.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

// The number in a TensorProto without axes, of float or double; empty for other tensors. False: damaged.
DISTRIB_DECL auto parse_scalar_tensor(ByteView bytes, std::optional<double>& value) -> bool {
  std::uint64_t dtype = 0;
  std::size_t axes = 0;
  ByteView content;
  std::optional<double> listed;  // the same number where a writer lists it instead of giving its bytes
  WireReader tensor{bytes};
  while (tensor.next()) switch (tensor.tag()) {
      case wire_tag(1, WireType::varint): dtype = tensor.uint64(); break;
      case wire_tag(2, WireType::bytes): {
        WireReader shape{tensor.bytes()};
        while (shape.next()) axes += shape.tag() == wire_tag(2, WireType::bytes);
        if (!shape.ok()) return false;
        break;
      }
      case wire_tag(4, WireType::bytes): content = tensor.bytes(); break;
      case wire_tag(5, WireType::fixed32): listed = tensor.float32(); break;
      case wire_tag(5, WireType::bytes):
        if (tensor.bytes().size() == sizeof(float)) listed = load_le<float>(tensor.bytes().data());
        break;
      case wire_tag(6, WireType::fixed64): listed = tensor.float64(); break;
      case wire_tag(6, WireType::bytes):
        if (tensor.bytes().size() == sizeof(double)) listed = load_le<double>(tensor.bytes().data());
        break;
    }
  if (!tensor.ok()) return false;
  const bool is_float = dtype == static_cast<std::uint64_t>(DType::float32);
  if (axes != 0 || (!is_float && dtype != static_cast<std::uint64_t>(DType::float64))) return true;
  if (is_float && content.size() == sizeof(float)) value = load_le<float>(content.data());
  else if (!is_float && content.size() == sizeof(double)) value = load_le<double>(content.data());
  else if (content.empty()) value = listed ? listed : 0.0;  // protobuf leaves a zero out
  else return false;
  return true;
}

// The plugin and the class of data that a SummaryMetadata names. False: damaged.
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

// One Summary.Value.
DISTRIB_DECL auto parse_summary_value(ByteView bytes, std::vector<ScalarEvent>& scalars) -> bool {
  ScalarEvent scalar;
  std::optional<double> value;
  bool good = true;
  WireReader entry{bytes};
  while (good && entry.next()) switch (entry.tag()) {
      case wire_tag(1, WireType::bytes): scalar.tag = entry.text(); break;
      case wire_tag(2, WireType::fixed32): value = entry.float32(); break;
      case wire_tag(8, WireType::bytes): good = parse_scalar_tensor(entry.bytes(), value); break;
      case wire_tag(9, WireType::bytes): good = parse_summary_metadata(entry.bytes(), scalar); break;
    }
  if (value && (scalar.plugin_name.empty() || scalar.plugin_name == "scalars")) {
    scalar.value = *value;
    scalars.push_back(std::move(scalar));
  }
  return good && entry.ok();
}

}  // namespace detail

DISTRIB_DECL auto parse_event(ByteView bytes, ParsedEvent& event) -> bool {
  event = {};
  double wall_time = 0;
  std::int64_t step = 0;
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): wall_time = reader.float64(); break;
      case wire_tag(2, WireType::varint): step = reader.int64(); break;
      case wire_tag(3, WireType::bytes): event.file_version = reader.text(); break;
      case wire_tag(5, WireType::bytes): {
        WireReader summary{reader.bytes()};
        while (summary.next())
          if (summary.tag() == wire_tag(1, WireType::bytes) &&
              !detail::parse_summary_value(summary.bytes(), event.scalars))
            return false;
        if (!summary.ok()) return false;
        break;
      }
    }
  for (ScalarEvent& scalar : event.scalars) {
    scalar.wall_time = wall_time;
    scalar.step = step;
  }
  return reader.ok();
}

}  // namespace v0
}  // namespace distrib
