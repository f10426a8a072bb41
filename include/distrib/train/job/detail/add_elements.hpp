// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Adds the `size` elements from `from` on to those from `to` on. Integers are added modulo 2^64: T is unsigned then.
template <class T> void add_elements(const std::byte* from, std::byte* to, std::size_t size) noexcept {
  const T* const more = reinterpret_cast<const T*>(from);
  T* const sum = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < size; ++i) sum[i] += more[i];
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
