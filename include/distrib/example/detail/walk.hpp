// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/detail/field_reader.hpp>
#include <distrib/example/feature.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// The one way through the bytes of a tf.train.Example (example.proto, feature.proto), whoever walks it. Everything that
// protobuf's parser takes is taken, with the same meaning; everything that it refuses is refused, but for names that are
// no UTF-8: TensorFlow's parse_example takes those, so that one odd name does not cost the record.
namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint32_t first_message = wire_tag(1, WireType::bytes);  // every message here has its content in 1
inline constexpr std::uint32_t second_message = wire_tag(2, WireType::bytes);

/// Gives the values of a BytesList, FloatList or Int64List (`kind`) to a sink:
/// `bytes(ByteView)`, `floats(ByteView)` (whole numbers of little-endian floats), `int64(number)`, and
/// `int64s(ByteView packed) -> bool`, false when these are no varints. False: malformed.
template <class Sink>
[[nodiscard]] auto read_list(FeatureKind kind, ByteView list, unsigned levels, Sink& sink) -> bool {
  FieldReader reader{list, levels};
  while (reader.next()) {
    if (reader.tag() == first_message) {
      const ByteView content = reader.bytes();
      if (kind == FeatureKind::bytes) {
        sink.bytes(content);
      } else if (kind == FeatureKind::floats) {
        if (content.size() % sizeof(float) != 0) return false;
        sink.floats(content);
      } else if (!sink.int64s(content)) {
        return false;
      }
    } else if (kind == FeatureKind::floats && reader.tag() == wire_tag(1, WireType::fixed32)) {
      sink.floats({reader.position() - sizeof(float), sizeof(float)});
    } else if (kind == FeatureKind::int64s && reader.tag() == wire_tag(1, WireType::varint)) {
      sink.int64(static_cast<std::int64_t>(reader.number()));
    }
  }
  return reader.ok();
}

/// Gives (a part of) a Feature to a sink: `kind_is(FeatureKind)` before the values of each list; another kind than the
/// last drops what there was, as in every oneof of protobuf. False: malformed.
template <class Sink> [[nodiscard]] auto read_feature(ByteView feature, unsigned levels, Sink&& sink) -> bool {
  if (levels == 0) return false;
  FieldReader reader{feature, levels};
  while (reader.next()) {
    if ((reader.tag() & 7) != first_message % 8 || reader.tag() >> 3 > 3) continue;  // none of the three kinds
    const auto kind = static_cast<FeatureKind>(reader.tag() >> 3);
    sink.kind_is(kind);
    if (!read_list(kind, reader.bytes(), levels - 1, sink)) return false;
  }
  return reader.ok();
}

/// Gives an entry of a map (key 1, value 2, in any order, unknown fields between) to a sink: `begin(name) -> bool`,
/// whether its value is wanted, and then `value(ByteView, levels) -> bool` for each part of it; several values of one
/// entry are parts of one message, of several keys the last one counts. False: malformed.
template <class Sink> [[nodiscard]] auto read_entry(ByteView bytes, unsigned levels, Sink& sink) -> bool {
  std::string_view key;
  ByteView value;
  std::size_t parts = 0;
  FieldReader entry{bytes, levels};
  while (entry.next()) {
    if (entry.tag() == first_message) {
      key = entry.text();
    } else if (entry.tag() == second_message) {
      value = entry.bytes();
      ++parts;
    }
  }
  if (!entry.ok()) return false;
  if (!sink.begin(key) || parts == 0) return true;
  if (parts == 1) return sink.value(value, levels - 1);
  FieldReader again{bytes, levels};
  while (again.next())
    if (again.tag() == second_message && !sink.value(again.bytes(), levels - 1)) return false;
  return true;
}

/// Gives the entries of a Features or FeatureLists message to a sink of `read_entry`. False: malformed.
template <class Sink> [[nodiscard]] auto read_map(ByteView map, unsigned levels, Sink& sink) -> bool {
  FieldReader reader{map, levels};
  while (reader.next())
    if (reader.tag() == first_message && !read_entry(reader.bytes(), levels - 1, sink)) return false;
  return reader.ok();
}

/// Visits the bytes of each entry in the maps that `record` has under `tag`.
template <class Visit> void for_each_entry(ByteView record, std::uint32_t tag, Visit visit) {
  FieldReader reader{record, most_levels};
  while (reader.next()) {
    if (reader.tag() != tag) continue;
    FieldReader map{reader.bytes(), most_levels - 1};
    while (map.next())
      if (map.tag() == first_message) visit(map.bytes());
  }
}

/// Whether protobuf's parser takes `record` for an Example.
[[nodiscard]] DISTRIB_DECL auto is_example(ByteView record) noexcept -> bool;

/// Whether protobuf's parser takes `record` for a SequenceExample.
[[nodiscard]] DISTRIB_DECL auto is_sequence_example(ByteView record) noexcept -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/walk.ipp>
#endif
