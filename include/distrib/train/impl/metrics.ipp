// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/metrics.hpp>

#include <distrib/core/rounded.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the value called `name` in a list, or null if there is none.
template <class T> auto find_named(std::vector<std::pair<std::string, T>>& list, std::string_view name) -> T* {
  for (auto& [known, value] : list)
    if (known == name) return &value;
  return nullptr;
}

}  // namespace detail

DISTRIB_DECL void Metrics::merge(const Metrics& other) {
  const auto before = static_cast<double>(examples);
  const auto added = static_cast<double>(other.examples);
  examples += other.examples;
  if (other.examples != 0) {
    for (const auto& [name, mean] : other.means)
      if (double* const own = detail::find_named(means, name))
        *own = (detail::opaque(*own * before) + detail::opaque(mean * added)) / static_cast<double>(examples);
      else means.emplace_back(name, mean);
  }
  for (const auto& [name, area] : other.areas)
    if (RocAuc* const own = detail::find_named(areas, name)) own->merge(area);
    else areas.emplace_back(name, area);
}

}  // namespace v0
}  // namespace distrib
