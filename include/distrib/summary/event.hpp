// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Events as TensorBoard reads them: tensorflow.Event (tensorflow/core/util/event.proto) in protobuf's binary form.

namespace distrib {
inline namespace v0 {

/// Version that the first record of an event file tells.
inline constexpr std::string_view event_file_version = "brain.Event:2";

/// What kind of data a plugin shows: DataClass of tensorflow/core/framework/summary.proto.
enum class DataClass : std::uint8_t { unknown = 0, scalar = 1, tensor = 2, blob_sequence = 3 };

/// One point of a curve.
struct ScalarEvent {
  double wall_time = 0;  ///< Seconds since 1970.
  std::int64_t step = 0;
  std::string tag;  ///< Name of the curve: "loss".
  double value = 0;
  std::string plugin_name = {};  ///< Of TensorBoard, as the writer named it: "scalars"; empty in TensorFlow 1's form.
  DataClass data_class = DataClass::unknown;

  [[nodiscard]] auto operator==(const ScalarEvent&) const -> bool = default;
};

/// How a scalar stands in an event. TensorBoard reads both.
enum class ScalarForm {
  tensor,  ///< TensorFlow 2: a tensor, and that the plugin "scalars" shows it.
  simple_value,  ///< TensorFlow 1.
};

/// What happened to a run.
enum class SessionStatus : std::uint8_t { start = 1, stop = 2, checkpoint = 3 };

namespace detail {
inline void begin_event(WireWriter& out, double wall_time, std::int64_t step) {
  out.clear();
  if (wall_time != 0) out.float64(1, wall_time);
  if (step != 0) out.int64(2, step);
}

/// An event of a summary of one value; `fill(value)` writes what it has beside its tag.
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

/// The event that every file begins with. What `out` held is replaced; so it is by the others.
inline void write_version_event(WireWriter& out, double wall_time) {
  detail::begin_event(out, wall_time, 0);
  out.text(3, event_file_version);
}

/// A point of the curve `tag`. `wall_time` in seconds since 1970.
DISTRIB_DECL void write_scalar_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                     float value, ScalarForm form = ScalarForm::tensor);

/// A mark of the run's life. `checkpoint_path`: the prefix, of `SessionStatus::checkpoint` only.
DISTRIB_DECL void write_session_event(WireWriter& out, double wall_time, std::int64_t step, SessionStatus status,
                                      std::string_view checkpoint_path = {});

/// What one event says that this library understands.
struct ParsedEvent {
  std::string_view file_version;  ///< Of the version event, else empty; points into the event's bytes.
  std::vector<ScalarEvent> scalars;  ///< Of a summary; values that are no scalars are passed over.
};

/// Reads the bytes of one event, of either scalar form. False: they are no event. Events of other kinds (graphs,
/// session logs) are well and say nothing. Throws only `std::bad_alloc`.
[[nodiscard]] DISTRIB_DECL auto parse_event(ByteView bytes, ParsedEvent& event) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/event.ipp>
#endif
