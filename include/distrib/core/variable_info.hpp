// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/shape.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// True if a variable of this element type is a counter. No updater trains a counter: it starts at 0, and each
/// contribution is added to it undivided (TensorFlow's `assign_add`). An int64 counter counts modulo 2^64.
[[nodiscard]] constexpr auto is_counter(DType dtype) noexcept -> bool {
  return dtype == DType::int64 || dtype == DType::float64;
}

}  // namespace detail

/// A variable for run-time code, as a job's description contains it.
struct VariableInfo {
  std::string name;  ///< Unique among the variables and tables of a model.
  DType dtype = DType::float32;  ///< float32: trained. float64 or int64: a counter.
  Shape shape;  ///< Of the whole variable, not of a part of it.
  Initializer initializer = ZerosInitializer{};  ///< Initial values. A counter starts at zeros.

  [[nodiscard]] auto operator==(const VariableInfo&) const -> bool = default;

  /// Returns the size of the whole tensor in bytes.
  [[nodiscard]] auto size_bytes() const noexcept -> std::size_t {
    return static_cast<std::size_t>(shape.elements()) * distrib::size_bytes(dtype);
  }
};

namespace detail {

/// Returns the byte offset of each variable in one block that holds them all. Each offset is a multiple of
/// `tensor_alignment`. The last entry is the size of the block.
[[nodiscard]] inline auto block_offsets(std::span<const VariableInfo> variables) -> std::vector<std::size_t> {
  std::vector<std::size_t> offsets{0};
  for (const VariableInfo& variable : variables)
    offsets.push_back(offsets.back() + detail::aligned_size(variable.size_bytes()));
  return offsets;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
