// SPDX-License-Identifier: Apache-2.0
// Reads what pipelines of plain numbers return.
#pragma once

#include <distrib/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace numbers {

using Numbers = std::vector<std::uint64_t>;

/// Returns the first `count` elements of a pipeline, in its order.
inline auto first(const auto& elements, std::uint64_t count) -> Numbers {
  auto order = elements.open();
  Numbers found;
  for (std::uint64_t p = 0; p < count; ++p) found.push_back(order.at(0, p));
  return found;
}

inline auto all(const auto& elements) -> Numbers { return first(elements, elements.open().size()); }

/// Returns the remaining elements of a stream or pipeline; stops at the first failure.
template <class S>
auto drained(S& stream) {
  std::vector<typename S::Element> found;
  distrib::Error error;
  while (auto element = stream.next(error)) found.push_back(*element);
  return found;
}

/// Returns all elements of a stream or pipeline. Takes a copy, so the caller's stays unchanged.
inline auto contents(auto stream) { return drained(stream); }

}  // namespace numbers
