// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>  // explicit_bzero is no part of <cstring>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Overwrites a secret that is no longer needed. Unlike memset, the compiler cannot omit it because the memory is not
/// read afterwards. Not inlined: GCC 14 would take the first member of an object for all of its memory, and warn.
[[gnu::noinline]] inline void wipe(void* memory, std::size_t size) noexcept { ::explicit_bzero(memory, size); }

}  // namespace detail
}  // namespace v0
}  // namespace distrib
