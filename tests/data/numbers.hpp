// SPDX-License-Identifier: Apache-2.0
// What pipelines of plain numbers give.
#pragma once

#include <distrib/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace numbers {

using Numbers = std::vector<std::uint64_t>;

/// The first `count` elements of the order of a pipeline.
inline auto first(const auto& elements, std::uint64_t count) -> Numbers {
  auto order = elements.open();
  Numbers found;
  for (std::uint64_t p = 0; p < count; ++p) found.push_back(order.at(0, p));
  return found;
}

inline auto all(const auto& elements) -> Numbers { return first(elements, elements.open().size()); }

/// What is left of a stream or pipeline; failures end it.
template <class S>
auto drained(S& stream) {
  std::vector<typename S::Element> found;
  distrib::Error error;
  while (auto element = stream.next(error)) found.push_back(*element);
  return found;
}

/// All that a stream or pipeline gives; it is left as it was.
inline auto contents(auto stream) { return drained(stream); }

}  // namespace numbers
