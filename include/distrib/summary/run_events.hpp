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

/// The content of the event files of one run. A value. Made by `read_run`.
struct RunEvents {
  /// Values with one tag that are not points of a curve.
  struct OtherValues {
    std::string tag;  ///< Name of the values.
    std::string what;  ///< The plugin that shows them, or their type: "text", "histogram", "string", "float32 [3]".
    std::uint64_t values = 0;  ///< Number of values.

    [[nodiscard]] auto operator==(const OtherValues&) const -> bool = default;
  };

  std::vector<ScalarEvent> scalars;  ///< Sorted by wall time; points with equal times in the order of the files.
  /// Number of points by tag that were left out, because the run went back to an earlier step.
  std::map<std::string, std::uint64_t> superseded;
  std::vector<OtherValues> others;  ///< Sorted by tag.
  std::vector<Error> failures;  ///< Files and directories that could not be read to their end, each with its place.
};

}  // namespace v0
}  // namespace distrib
