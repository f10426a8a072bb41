// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/factors.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// An update of `size` elements. `to` may be the memory of `from`. Pointers to slots that the update does not have must
/// still point to memory: they are advanced, but not read.
struct BlockUpdate {
  const float* gradient;
  const float* from;
  float* to;
  float* slots[3];
  std::size_t size;
};

/// An update of `count` rows in place, each [weights | slot 0 | ...] of `dim` floats. The gradients of the rows lie one
/// after another.
struct RowsUpdate {
  float* const* rows;
  const float* gradients;
  std::size_t count;
  std::size_t dim;
};

/// The sum of `count` contributions of `size` elements each, divided by `divisor`.
struct MeanOf {
  const std::span<const float>* contributions;
  std::size_t count;
  float* out;
  std::size_t size;
  std::size_t divisor;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#define DISTRIB_KERNELS baseline
#define DISTRIB_REGISTER_FLOATS 4
#if defined(__clang__)
#pragma float_control(push)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif
#include <distrib/optimizer/detail/kernels.inc>

#if defined(__x86_64__)
#define DISTRIB_KERNELS avx2
#define DISTRIB_REGISTER_FLOATS 8
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#include <distrib/optimizer/detail/kernels.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define DISTRIB_KERNELS avx512
#define DISTRIB_REGISTER_FLOATS 16
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#include <distrib/optimizer/detail/kernels.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

namespace distrib {
inline namespace v0 {
namespace detail {

/// The sets of instructions that the kernels are compiled for.
enum class Instructions { baseline, avx2, avx512 };

/// Returns the widest set of instructions that this machine has.
[[nodiscard]] inline auto best_instructions() noexcept -> Instructions {
#if defined(__x86_64__)
  static const Instructions best = __builtin_cpu_supports("avx512f") ? Instructions::avx512
                                   : __builtin_cpu_supports("avx2")  ? Instructions::avx2
                                                                     : Instructions::baseline;
  return best;
#else
  return Instructions::baseline;
#endif
}

/// Updates a block with the widest instructions of this machine; all sets give the same bits.
template <template <class> class Factors>
void update_block(const Factors<float>& factors, const BlockUpdate& block,
                  [[maybe_unused]] Instructions instructions = best_instructions()) noexcept {
#if defined(__x86_64__)
  if (instructions == Instructions::avx512) return avx512::Update<Factors>::block(factors, block);
  if (instructions == Instructions::avx2) return avx2::Update<Factors>::block(factors, block);
#endif
  baseline::Update<Factors>::block(factors, block);
}

/// Updates rows with the widest instructions of this machine; all sets give the same bits.
template <template <class> class Factors>
void update_rows(const Factors<float>& factors, const RowsUpdate& rows,
                 [[maybe_unused]] Instructions instructions = best_instructions()) noexcept {
#if defined(__x86_64__)
  if (instructions == Instructions::avx512) return avx512::Update<Factors>::rows(factors, rows);
  if (instructions == Instructions::avx2) return avx2::Update<Factors>::rows(factors, rows);
#endif
  baseline::Update<Factors>::rows(factors, rows);
}

/// Computes a mean with the widest instructions of this machine; all sets give the same bits.
inline void mean_of(const MeanOf& mean, [[maybe_unused]] Instructions instructions = best_instructions()) noexcept {
#if defined(__x86_64__)
  if (instructions == Instructions::avx512) return avx512::mean_of(mean);
  if (instructions == Instructions::avx2) return avx2::mean_of(mean);
#endif
  baseline::mean_of(mean);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
