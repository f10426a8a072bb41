// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>
#include <distrib/optimizer/updater.hpp>

#include <cassert>
#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Updates a block with the kernel of `factors`. Programmer errors: spans of different length, another number of slots.
template <class Factors>
void apply_factors(const Factors& factors, std::span<const float> gradient, std::span<const float> from,
                   std::span<float> to, [[maybe_unused]] std::span<const std::span<float>> slots) noexcept {
  assert(gradient.size() == to.size() && from.size() == to.size());
  assert(slots.size() == Factors::slots);
  BlockUpdate block{gradient.data(), from.data(), to.data(), {to.data(), to.data(), to.data()}, to.size()};
  for (std::size_t i = 0; i < Factors::slots; ++i) {
    assert(slots[i].size() == to.size());
    block.slots[i] = slots[i].data();
  }
  update_block(factors, block);
}

/// Updates rows with the kernel of `factors`.
template <class Factors> void apply_factors(const Factors& factors, const RowBatch& batch) noexcept {
  update_rows(factors, {batch.rows.data(), batch.gradients.data(), batch.rows.size(), batch.dim});
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
