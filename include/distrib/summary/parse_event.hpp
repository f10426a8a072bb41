// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

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
#include <distrib/summary/impl/parse_event.ipp>
#endif
