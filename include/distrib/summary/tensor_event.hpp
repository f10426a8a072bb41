// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/shape.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A tensor at one step of the run: `bytes`, row-major and little-endian, of as many elements as `shape` has.
/// `plugin_name`: the plugin of TensorBoard that shows it; empty: none, but programs that read the file find it.
/// `wall_time` in seconds since 1970. What `out` held is replaced. Programmer error: another number of bytes.
DISTRIB_DECL void write_tensor_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     DType dtype, const Shape& shape, ByteView bytes,
                                     std::string_view plugin_name = {});

/// A text at one step of the run, which TensorBoard shows as Markdown. Arguments as of `write_tensor_event`.
DISTRIB_DECL void write_text_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                   std::string_view text);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/tensor_event.ipp>
#endif
