// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/factors.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// An update of `size` elements. `to` may be the memory of `from`; slots that an update does not have are memory all the
/// same (pointers are counted on, not followed).
struct BlockUpdate {
  const float* gradient;
  const float* from;
  float* to;
  float* slots[3];
  std::size_t size;
};

/// An update in place of `count` rows, each [weights | slot 0 | ...] of `dim` floats; gradients one after the other.
struct RowsUpdate {
  float* const* rows;
  const float* gradients;
  std::size_t count;
  std::size_t dim;
};

/// A mean of `count` contributions of `size` elements each.
struct MeanOf {
  const std::span<const float>* contributions;
  std::size_t count;
  float* out;
  std::size_t size;
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

/// The widest set of instructions that this machine has.
enum class Instructions { baseline, avx2, avx512 };

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

/// Runs an update with the widest instructions there are; all give the same bits.
template <template <class> class Factors>
void update_block(const Factors<float>& factors, const BlockUpdate& block,
                  [[maybe_unused]] Instructions instructions = best_instructions()) noexcept {
#if defined(__x86_64__)
  if (instructions == Instructions::avx512) return avx512::Update<Factors>::block(factors, block);
  if (instructions == Instructions::avx2) return avx2::Update<Factors>::block(factors, block);
#endif
  baseline::Update<Factors>::block(factors, block);
}

template <template <class> class Factors>
void update_rows(const Factors<float>& factors, const RowsUpdate& rows,
                 [[maybe_unused]] Instructions instructions = best_instructions()) noexcept {
#if defined(__x86_64__)
  if (instructions == Instructions::avx512) return avx512::Update<Factors>::rows(factors, rows);
  if (instructions == Instructions::avx2) return avx2::Update<Factors>::rows(factors, rows);
#endif
  baseline::Update<Factors>::rows(factors, rows);
}

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
