// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What one event says that this library understands.
struct ParsedEvent {
  /// A value of a summary that is no point of a curve.
  struct OtherValue {
    std::string tag;
    std::string what;  ///< The plugin that shows it, or what it is: "text", "histogram", "string", "float32 [3]".

    [[nodiscard]] auto operator==(const OtherValue&) const -> bool = default;
  };

  bool is_event =
      false;  ///< It has a field that events have. Bytes of another message often look like an event without.
  std::string_view file_version;  ///< Of the version event, else empty; points into the event's bytes.
  std::int64_t step = 0;
  std::optional<SessionStatus> session;  ///< Of a mark of the run's life.
  std::vector<ScalarEvent> scalars;      ///< Of a summary.
  std::vector<OtherValue> others;        ///< Of a summary, those that are no scalars.
};

/// Reads the bytes of one event. False: they are no event. Events of other kinds (graphs) are well and say nothing.
///
/// A scalar is a number in TensorFlow 1's form, or a tensor of one element, whatever its type of numbers and its shape: of
/// float16, of an integer, of bool (true is 1). Throws only `std::bad_alloc`.
[[nodiscard]] DISTRIB_DECL auto parse_event(ByteView bytes, ParsedEvent& event) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/parse_event.ipp>
#endif
