// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/image_event.hpp>

#include <distrib/summary/event.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void write_image_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                    const ImageSummary& image) {
  detail::write_summary(out, wall_time, step, tag, [&](WireWriter& value) {
    value.message(4, [&](WireWriter& fields) {
      fields.varint(1, image.height);
      fields.varint(2, image.width);
      fields.varint(3, image.channels);
      fields.bytes(4, image.encoded);
    });
  });
}

}  // namespace v0
}  // namespace distrib
