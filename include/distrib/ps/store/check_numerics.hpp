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

/// True if every element is finite: neither NaN nor infinite. Looks at the bits, so it also works under -ffast-math,
/// which lets the compiler assume that all numbers are finite. As fast as memory is read.
[[nodiscard]] DISTRIB_DECL auto all_finite(std::span<const float> elements) noexcept -> bool;

/// True if every element is finite. This overload is for doubles, which it checks one by one.
[[nodiscard]] DISTRIB_DECL auto all_finite(std::span<const double> elements) noexcept -> bool;

/// Checks what a contribution has for one shard, as TensorFlow's check of the same name: the dense `block` and the rows
/// of `tables`. Returns `ps_errc::not_finite` with the name of the first variable or table that has an element that is
/// not finite, dense variables first; otherwise an empty error. Integers and the gaps of the block are not checked.
[[nodiscard]] DISTRIB_DECL auto check_numerics(const ShardLayout& layout, const AlignedBuffer& block,
                                               const TableGradients& tables) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/check_numerics.ipp>
#endif
