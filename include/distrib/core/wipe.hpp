// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>  // explicit_bzero is no part of <cstring>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Overwrites a secret that is needed no more. Unlike memset, it is not left out because nobody reads it afterwards.
inline void wipe(void* memory, std::size_t size) noexcept { ::explicit_bzero(memory, size); }

}  // namespace detail
}  // namespace v0
}  // namespace distrib
