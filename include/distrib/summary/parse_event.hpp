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

/// The content of one event, as far as this library uses it.
struct ParsedEvent {
  /// A value of a summary that is not a point of a curve.
  struct OtherValue {
    std::string tag;  ///< Name of the value.
    std::string what;  ///< The plugin that shows it, or its type: "text", "histogram", "string", "float32 [3]".

    [[nodiscard]] auto operator==(const OtherValue&) const -> bool = default;
  };

  /// True if it has a field of events. Bytes of another kind of message often parse as an event without any.
  bool is_event = false;
  std::string_view file_version;  ///< Of a version event, otherwise empty; points into the bytes of the event.
  std::int64_t step = 0;  ///< Step of the run; 0 if the event has none.
  std::optional<SessionStatus> session;  ///< Of a mark in the life of the run.
  std::vector<ScalarEvent> scalars;  ///< The scalars of a summary.
  std::vector<OtherValue> others;  ///< The other values of a summary.
};

/// Parses the bytes of one event. Returns false if they are not an event; the content of `event` is then unspecified.
/// Events of other kinds (graphs) are accepted and leave the other fields empty.
///
/// A scalar is a number in the form of TensorFlow 1, or a tensor with one element, of any numeric type (float16,
/// integers, bool with true as 1) and any shape, without a plugin or for the plugin "scalars". Throws only
/// `std::bad_alloc`.
[[nodiscard]] DISTRIB_DECL auto parse_event(ByteView bytes, ParsedEvent& event) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/parse_event.ipp>
#endif
