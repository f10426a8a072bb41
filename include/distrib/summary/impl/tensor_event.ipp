// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/tensor_event.hpp>

#include <distrib/summary/detail/tensor_shape.hpp>
#include <distrib/summary/event.hpp>

#include <cassert>
#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

// Writes the metadata of a tensor: the plugin that shows it, if there is one.
DISTRIB_DECL void write_tensor_metadata(WireWriter& value, std::string_view plugin_name) {
  value.message(9, [&](WireWriter& metadata) {
    if (!plugin_name.empty()) metadata.message(1, [&](WireWriter& plugin) { plugin.text(1, plugin_name); });
    metadata.varint(4, static_cast<std::uint64_t>(ScalarEvent::DataClass::tensor));
  });
}

}  // namespace detail

DISTRIB_DECL void write_tensor_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     DType dtype, const Shape& shape, ByteView bytes, std::string_view plugin_name) {
  assert(bytes.size() == static_cast<std::size_t>(shape.elements()) * size_bytes(dtype));
  detail::write_summary(out, wall_time, step, tag, [&](WireWriter& value) {
    value.message(8, [&](WireWriter& tensor) {
      tensor.varint(1, static_cast<std::uint64_t>(dtype));
      detail::write_shape(tensor, 2, shape);
      if (!bytes.empty()) tensor.bytes(4, bytes);
    });
    detail::write_tensor_metadata(value, plugin_name);
  });
}

DISTRIB_DECL void write_text_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                   std::string_view text) {
  detail::write_summary(out, wall_time, step, tag, [&](WireWriter& value) {
    value.message(8, [&](WireWriter& tensor) {
      tensor.varint(1, static_cast<std::uint64_t>(DType::string));
      detail::write_shape(tensor, 2, {});
      tensor.text(8, text);
    });
    detail::write_tensor_metadata(value, "text");
  });
}

}  // namespace v0
}  // namespace distrib
