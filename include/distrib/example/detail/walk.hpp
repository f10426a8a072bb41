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

// Walks over the bytes of a tf.train.Example (example.proto, feature.proto); every reader of Examples uses it, at least
// for unusual encodings. It accepts what protobuf's parser accepts, with the same meaning, and refuses what protobuf
// refuses, with one exception: names that are not UTF-8 are accepted, as by TensorFlow's parse_example, so that a
// single odd name does not make a record unreadable.
namespace distrib {
inline namespace v0 {
namespace detail {

// field 1 has the content of every message here
inline constexpr std::uint32_t first_message = wire_tag(1, WireType::bytes);
inline constexpr std::uint32_t second_message = wire_tag(2, WireType::bytes);

/// Passes the values of a BytesList, FloatList or Int64List (`kind`) to a sink: `bytes(ByteView)`, `floats(ByteView)`
/// (any number of whole little-endian floats), `int64(number)`, and `int64s(ByteView packed) -> bool`, which returns
/// false if these are not varints. Returns false if the list is malformed.
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

/// Passes a Feature, or a part of one, to a sink: `kind_is(FeatureKind)` is called before the values of each list.
/// Another kind than the last one drops the values before it, as in every oneof of protobuf. Returns false if the
/// feature is malformed.
template <class Sink> [[nodiscard]] auto read_feature(ByteView feature, unsigned levels, Sink&& sink) -> bool {
  if (levels == 0) return false;
  FieldReader reader{feature, levels};
  while (reader.next()) {
    if ((reader.tag() & 7) != first_message % 8 || reader.tag() >> 3 > 3) continue;  // not one of the three kinds
    const auto kind = static_cast<FeatureKind>(reader.tag() >> 3);
    sink.kind_is(kind);
    if (!read_list(kind, reader.bytes(), levels - 1, sink)) return false;
  }
  return reader.ok();
}

/// Passes an entry of a map (key 1, value 2, in any order, with unknown fields between) to a sink. `begin(name) ->
/// bool` returns whether the value is wanted; then `value(ByteView, levels) -> bool` is called for each part of it.
/// Several values of one entry are parts of one message; if an entry has several keys, the last one counts. Returns
/// false if the entry is malformed.
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

/// Passes the entries of a Features or FeatureLists message to a sink of `read_entry`. Returns false if it is
/// malformed.
template <class Sink> [[nodiscard]] auto read_map(ByteView map, unsigned levels, Sink& sink) -> bool {
  FieldReader reader{map, levels};
  while (reader.next())
    if (reader.tag() == first_message && !read_entry(reader.bytes(), levels - 1, sink)) return false;
  return reader.ok();
}

/// Calls `visit` with the bytes of each entry in the maps that `record` has under `tag`.
template <class Visit> void for_each_entry(ByteView record, std::uint32_t tag, Visit visit) {
  FieldReader reader{record, most_levels};
  while (reader.next()) {
    if (reader.tag() != tag) continue;
    FieldReader map{reader.bytes(), most_levels - 1};
    while (map.next())
      if (map.tag() == first_message) visit(map.bytes());
  }
}

/// True if protobuf's parser accepts `record` as an Example, apart from names that are not UTF-8.
[[nodiscard]] DISTRIB_DECL auto is_example(ByteView record) noexcept -> bool;

/// True if protobuf's parser accepts `record` as a SequenceExample, apart from names that are not UTF-8.
[[nodiscard]] DISTRIB_DECL auto is_sequence_example(ByteView record) noexcept -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/example/detail/impl/walk.ipp>
#endif
