// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <cstdint>
#include <string_view>

// Encodes events for TensorBoard: tensorflow.Event (tensorflow/core/util/event.proto) in protobuf's binary form.

namespace distrib {
inline namespace v0 {

/// The version in the first record of an event file.
inline constexpr std::string_view event_file_version = "brain.Event:2";

namespace detail {
inline void begin_event(WireWriter& out, double wall_time, std::int64_t step) {
  out.clear();
  if (wall_time != 0) out.float64(1, wall_time);
  if (step != 0) out.int64(2, step);
}

/// Writes an event with a summary of one value; `fill(value)` writes its content, without the tag.
template <class Fill>
void write_summary(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag, Fill fill) {
  begin_event(out, wall_time, step);
  out.message(5, [&](WireWriter& summary) {
    summary.message(1, [&](WireWriter& value) {
      value.text(1, tag);
      fill(value);
    });
  });
}
}  // namespace detail

/// Writes the event with which every file begins. Replaces the content of `out`.
inline void write_version_event(WireWriter& out, double wall_time) {
  detail::begin_event(out, wall_time, 0);
  out.text(3, event_file_version);
}

/// Writes a point of the curve `tag`. `wall_time`: seconds since 1970. Replaces the content of `out`.
DISTRIB_DECL void write_scalar_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     float value, ScalarForm form = ScalarForm::tensor);

/// Writes a mark in the life of the run. `wall_time`: seconds since 1970. `checkpoint_path`: the prefix, only for
/// `SessionStatus::checkpoint`. Replaces the content of `out`.
DISTRIB_DECL void write_session_event(WireWriter& out, double wall_time, std::int64_t step, SessionStatus status,
                                      std::string_view checkpoint_path = {});

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event.ipp>
#endif
