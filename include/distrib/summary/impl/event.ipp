// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event.hpp>

#include <distrib/core/dtype.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void write_scalar_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     float value, ScalarForm form) {
  detail::write_summary(out, wall_time, step, tag, [&](WireWriter& entry) {
    if (form == ScalarForm::simple_value) return entry.float32(2, value);
    entry.message(8, [&](WireWriter& tensor) {
      tensor.varint(1, static_cast<std::uint64_t>(DType::float32));
      tensor.text(2, {});  // a shape without axes
      tensor.message(4, [&](WireWriter& content) { content.raw_number(value); });
    });
    entry.message(9, [](WireWriter& metadata) {
      metadata.message(1, [](WireWriter& plugin) { plugin.text(1, "scalars"); });
      metadata.varint(4, static_cast<std::uint64_t>(ScalarEvent::DataClass::scalar));
    });
  });
}

DISTRIB_DECL void write_session_event(WireWriter& out, double wall_time, std::int64_t step, SessionStatus status,
                                      std::string_view checkpoint_path) {
  detail::begin_event(out, wall_time, step);
  out.message(7, [&](WireWriter& log) {
    log.varint(1, static_cast<std::uint64_t>(status));
    if (!checkpoint_path.empty()) log.text(2, checkpoint_path);
  });
}

}  // namespace v0
}  // namespace distrib
