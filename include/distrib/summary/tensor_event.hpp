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

/// Writes a tensor at one step of the run. `bytes`: its elements, row-major and little-endian. `plugin_name`: the
/// plugin of TensorBoard that shows it; empty: none, only programs that read the file find it. `wall_time`: seconds
/// since 1970. Replaces the content of `out`. The number of bytes must match `dtype` and `shape` (an assert).
DISTRIB_DECL void write_tensor_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     DType dtype, const Shape& shape, ByteView bytes,
                                     std::string_view plugin_name = {});

/// Writes a text at one step of the run, which TensorBoard shows as Markdown under the name `tag`. `wall_time`: seconds
/// since 1970. Replaces the content of `out`.
DISTRIB_DECL void write_text_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                   std::string_view text);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/tensor_event.ipp>
#endif
