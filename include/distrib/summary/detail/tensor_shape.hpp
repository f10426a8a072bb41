// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/shape.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Appends a TensorShapeProto as field `field`.
DISTRIB_DECL void write_shape(WireWriter& out, std::uint32_t field, const Shape& shape);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/detail/impl/tensor_shape.ipp>
#endif
