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

/// Whether a variable of this element type is a counter, which no updater trains: it starts at zeros, and what a
/// contribution says of it is added, whole (TensorFlow's `assign_add`). int64 counts modulo 2^64.
[[nodiscard]] constexpr auto is_counter(DType dtype) noexcept -> bool {
  return dtype == DType::int64 || dtype == DType::float64;
}

}  // namespace detail

/// A variable as run-time code sees it: what a job's description carries.
struct VariableInfo {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  Initializer initializer = ZerosInitializer{};

  [[nodiscard]] auto operator==(const VariableInfo&) const -> bool = default;

  /// Bytes of the whole tensor.
  [[nodiscard]] auto size_bytes() const noexcept -> std::size_t {
    return static_cast<std::size_t>(shape.elements()) * distrib::size_bytes(dtype);
  }
};

namespace detail {

/// Byte offset of each variable in one block that holds them all, each at a multiple of `tensor_alignment`; the last
/// entry is the size of the block.
[[nodiscard]] inline auto block_offsets(std::span<const VariableInfo> variables) -> std::vector<std::size_t> {
  std::vector<std::size_t> offsets{0};
  for (const VariableInfo& variable : variables)
    offsets.push_back(offsets.back() + detail::aligned_size(variable.size_bytes()));
  return offsets;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
