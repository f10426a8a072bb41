// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/detail/tensor_shape.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void write_shape(WireWriter& out, std::uint32_t field, const Shape& shape) {
  out.message(field, [&](WireWriter& axes) {
    for (const std::int64_t extent : shape.extents())
      axes.message(2, [&](WireWriter& axis) {
        if (extent != 0) axis.int64(1, extent);
      });
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
