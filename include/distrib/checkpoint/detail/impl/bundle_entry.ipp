// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/bundle_entry.hpp>

#include <distrib/checkpoint/ordered_code.hpp>
#include <distrib/core/protowire.hpp>

#include <limits>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto encode_header(std::uint64_t shards) -> std::vector<std::byte> {
  WireWriter out;
  out.varint(1, shards);
  out.message(3, [](WireWriter& version) { version.varint(1, bundle_version); });
  return out.take();
}

DISTRIB_DECL auto decode_header(ByteView bytes, BundleHeader& header) -> bool {
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): header.shards = reader.uint64(); break;
      case wire_tag(2, WireType::varint): header.big_endian = reader.uint64() != 0; break;
      case wire_tag(3, WireType::bytes): {
        WireReader version{reader.bytes()};
        while (version.next()) {
          if (version.tag() == wire_tag(2, WireType::varint)) header.min_consumer = version.int32();
          if (version.tag() == wire_tag(3, WireType::varint)) header.refuses_us |= version.int32() == bundle_version;
          if (version.tag() == wire_tag(3, WireType::bytes)) {  // the same list, packed
            std::uint64_t bad = 0;
            for (ByteView rest = version.bytes(); read_varint(rest, bad);) header.refuses_us |= bad == bundle_version;
          }
        }
        if (!version.ok()) return false;
        break;
      }
    }
  return reader.ok();
}

DISTRIB_DECL auto encode_entry(const BundleEntry& entry) -> std::vector<std::byte> {
  WireWriter out;
  out.varint(1, static_cast<std::uint64_t>(entry.dtype));
  out.message(2, [&](WireWriter& shape) {
    for (const std::int64_t extent : entry.shape.extents())
      shape.message(2, [&](WireWriter& dim) {
        if (extent != 0) dim.int64(1, extent);
      });
  });
  if (entry.shard != 0) out.varint(3, entry.shard);
  if (entry.offset != 0) out.varint(4, entry.offset);
  if (entry.size != 0) out.varint(5, entry.size);
  if (entry.masked_crc != 0) out.fixed32(6, entry.masked_crc);
  for (const Slice& slice : entry.slices)
    out.message(7, [&](WireWriter& extents) {
      for (std::size_t axis = 0; axis < slice.start.rank(); ++axis)
        extents.message(1, [&](WireWriter& extent) {
          if (slice.start[axis] != 0) extent.int64(1, slice.start[axis]);
          extent.int64(2, slice.extents[axis]);
        });
    });
  return out.take();
}

// Reads the fields 1 and 2 of a small message of varints; a variable keeps its value if its field is not set.
DISTRIB_DECL auto decode_pair(ByteView bytes, std::int64_t& first, std::int64_t& second) -> bool {
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(1, WireType::varint)) first = reader.int64();
    if (reader.tag() == wire_tag(2, WireType::varint)) second = reader.int64();
  }
  return reader.ok();
}

DISTRIB_DECL auto decode_shape(ByteView bytes, Shape& shape) -> bool {
  Extents extents;
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() == wire_tag(3, WireType::varint) && reader.boolean()) return false;  // unknown rank
    if (reader.tag() != wire_tag(2, WireType::bytes)) continue;
    std::int64_t extent = 0;
    std::int64_t unused = 0;
    if (!decode_pair(reader.bytes(), extent, unused) || !extents.add(extent)) return false;
  }
  if (!reader.ok() || !Shape::valid(extents.span())) return false;
  shape = Shape{extents.span()};
  return true;
}

// Reads a slice of a tensor with this `shape`. An axis without a length is covered whole.
DISTRIB_DECL auto decode_slice(ByteView bytes, std::string_view name, const Shape& shape, BundleEntry& entry) -> bool {
  Extents starts;
  Extents lengths;
  WireReader reader{bytes};
  while (reader.next()) {
    if (reader.tag() != wire_tag(1, WireType::bytes)) continue;
    std::int64_t start = 0;
    std::int64_t length = whole_axis;
    if (!decode_pair(reader.bytes(), start, length) || !starts.add(start) || !lengths.add(length)) return false;
  }
  if (!reader.ok() || starts.rank != shape.rank()) return false;
  entry.slice_keys.push_back(slice_key(name, starts.span(), lengths.span()));
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    if (lengths.values[axis] == whole_axis) lengths.values[axis] = shape[axis];
  if (!Shape::valid(starts.span()) || !Shape::valid(lengths.span())) return false;
  const Slice slice{Shape{starts.span()}, Shape{lengths.span()}};
  entry.slices.push_back(slice);
  return slice.inside(shape);
}

DISTRIB_DECL auto decode_entry(std::string_view name, ByteView bytes, BundleEntry& entry) -> bool {
  std::vector<ByteView> slices;  // decoded later, because they need the shape, which may come after them
  WireReader reader{bytes};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint):
        if (reader.uint64() > std::numeric_limits<std::uint8_t>::max()) return false;
        entry.dtype = static_cast<DType>(reader.uint64());
        break;
      case wire_tag(2, WireType::bytes):
        if (!decode_shape(reader.bytes(), entry.shape)) return false;
        break;
      case wire_tag(3, WireType::varint): entry.shard = reader.uint64(); break;
      case wire_tag(4, WireType::varint): entry.offset = reader.uint64(); break;
      case wire_tag(5, WireType::varint): entry.size = reader.uint64(); break;
      case wire_tag(6, WireType::fixed32): entry.masked_crc = reader.uint32(); break;
      case wire_tag(7, WireType::bytes): slices.push_back(reader.bytes()); break;
    }
  if (!reader.ok()) return false;
  for (const ByteView slice : slices)
    if (!decode_slice(slice, name, entry.shape, entry)) return false;
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
