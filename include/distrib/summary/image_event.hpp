// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A picture for TensorBoard.
struct ImageSummary {
  std::uint32_t height = 0;  ///< In pixels.
  std::uint32_t width = 0;  ///< In pixels.
  std::uint32_t channels = 1;  ///< 1: grey; 2: grey and alpha; 3: red, green and blue; 4: these and alpha.
  ByteView encoded;  ///< PNG, JPEG or GIF; `encode_png` makes a PNG from pixels.
};

/// Writes a picture at one step of the run. `wall_time`: seconds since 1970. Replaces the content of `out`.
DISTRIB_DECL void write_image_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                    const ImageSummary& image);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/image_event.ipp>
#endif
