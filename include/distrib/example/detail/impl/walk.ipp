// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/detail/walk.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

// Reads everything and keeps nothing, to find out whether it is well formed.
struct CheckFeature {
  void kind_is(FeatureKind) const noexcept {}
  void bytes(ByteView) const noexcept {}
  void floats(ByteView) const noexcept {}
  void int64(std::int64_t) const noexcept {}
  [[nodiscard]] auto int64s(ByteView packed) const noexcept -> bool { return decode_varints(packed, nullptr, 0); }

  // It is also the sink of a map.
  [[nodiscard]] auto begin(std::string_view) const noexcept -> bool { return true; }
  [[nodiscard]] auto value(ByteView feature, unsigned levels) const noexcept -> bool {
    return read_feature(feature, levels, *this);
  }
};

// Reads a FeatureList in the same way.
struct CheckFeatureList {
  [[nodiscard]] auto begin(std::string_view) const noexcept -> bool { return true; }
  [[nodiscard]] auto value(ByteView list, unsigned levels) const noexcept -> bool {
    FieldReader reader{list, levels};
    while (reader.next())
      if (reader.tag() == first_message && !read_feature(reader.bytes(), levels - 1, CheckFeature{})) return false;
    return reader.ok();
  }
};

DISTRIB_DECL auto is_example(ByteView record) noexcept -> bool {
  FieldReader reader{record, most_levels};
  CheckFeature check;
  while (reader.next())
    if (reader.tag() == first_message && !read_map(reader.bytes(), most_levels - 1, check)) return false;
  return reader.ok();
}

DISTRIB_DECL auto is_sequence_example(ByteView record) noexcept -> bool {
  FieldReader reader{record, most_levels};
  CheckFeature check;
  CheckFeatureList check_list;
  while (reader.next()) {
    if (reader.tag() == first_message && !read_map(reader.bytes(), most_levels - 1, check)) return false;
    if (reader.tag() == second_message && !read_map(reader.bytes(), most_levels - 1, check_list)) return false;
  }
  return reader.ok();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
