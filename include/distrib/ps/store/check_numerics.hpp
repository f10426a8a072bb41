// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <span>

namespace distrib {
inline namespace v0 {

/// Whether every element is a number: neither NaN nor infinite. It asks their bits, so that -ffast-math, which takes
/// all numbers for finite, changes nothing. As fast as memory is read.
[[nodiscard]] DISTRIB_DECL auto all_finite(std::span<const float> elements) noexcept -> bool;

/// The same of doubles, one by one.
[[nodiscard]] DISTRIB_DECL auto all_finite(std::span<const double> elements) noexcept -> bool;

/// TensorFlow's check of the same name, of what a contribution says to one shard: its dense `block` and rows of tables.
/// Fails with `ps_errc::not_finite`, naming the first variable or table with an element that is not finite. Gaps of the
/// block are not looked at.
[[nodiscard]] DISTRIB_DECL auto check_numerics(const ShardLayout& layout, const AlignedBuffer& block,
                                               const TableGradients& tables) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/check_numerics.ipp>
#endif
