// SPDX-License-Identifier: Apache-2.0
// The only file that includes xtensor and knows its two layouts of headers (0.24 to 0.27).
#pragma once

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xstorage.hpp>
#else
#include <xtensor/xstorage.hpp>

#include <cstddef>
#include <memory>

// xtensor before 0.26 leaves `rebind_container` of its small vector ambiguous for clang 19 and newer, which match
// template template arguments as C++17 says. These full specializations resolve that; g++ selects the same types
// without them.
#if defined(__clang__) && __clang_major__ >= 19
namespace xt {
template <> struct rebind_container<std::ptrdiff_t, svector<std::size_t, 4, std::allocator<std::size_t>, true>> {
  using type = svector<std::ptrdiff_t, 4, std::allocator<std::ptrdiff_t>, true>;
};
template <> struct rebind_container<std::size_t, svector<std::ptrdiff_t, 4, std::allocator<std::ptrdiff_t>, true>> {
  using type = svector<std::size_t, 4, std::allocator<std::size_t>, true>;
};
template <> struct rebind_container<std::size_t, svector<std::size_t, 4, std::allocator<std::size_t>, true>> {
  using type = svector<std::size_t, 4, std::allocator<std::size_t>, true>;
};
template <> struct rebind_container<std::ptrdiff_t, svector<std::ptrdiff_t, 4, std::allocator<std::ptrdiff_t>, true>> {
  using type = svector<std::ptrdiff_t, 4, std::allocator<std::ptrdiff_t>, true>;
};
}  // namespace xt
#endif
#endif

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#endif
