// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/summary/scalar_event.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the event files of one run say. A value. Made by `read_run`.
struct RunEvents {
  /// Values under one tag that are no points of a curve.
  struct OtherValues {
    std::string tag;
    std::string what;  ///< The plugin that shows them, or what they are: "text", "histogram", "string", "float32 [3]".
    std::uint64_t values = 0;

    [[nodiscard]] auto operator==(const OtherValues&) const -> bool = default;
  };

  std::vector<ScalarEvent> scalars;  ///< In the order of their wall time; of equal times in the order of the files.
  std::map<std::string, std::uint64_t>
      superseded;  ///< By tag: points left out, as the run went back to an earlier step.
  std::vector<OtherValues> others;  ///< By tag.
  std::vector<Error> failures;  ///< Files that could not be read to their end, each with its place.
};

}  // namespace v0
}  // namespace distrib
