// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/slice.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

// TensorFlow's "ordered code": numbers and texts as bytes, such that the order of the bytes is the order of the values.
// The index of a checkpoint names slices of tensors with it (tensorflow/core/lib/strings/ordered_code.h).

/// Appends a number: one byte with the number of digits, then the digits, base 256, the most significant first.
DISTRIB_DECL void append_ordered_uint64(std::string& to, std::uint64_t value);

/// Appends a text: 00 becomes 00 FF, FF becomes FF 00, and 00 01 ends it.
DISTRIB_DECL void append_ordered_text(std::string& to, std::string_view text);

/// Appends a signed number in 1 to 10 bytes: as many one bits as there are bytes, then a zero bit, then the value in
/// two's complement. For a negative number all bits of this header are inverted.
DISTRIB_DECL void append_ordered_int64(std::string& to, std::int64_t value);

/// Stands for the length of an axis that a slice covers whole; the file does not have the length.
inline constexpr std::int64_t whole_axis = -1;

/// Returns the key of one slice of the tensor `name` in a checkpoint's index: 0, the name, the number of axes, then
/// start and length of each axis (saved_tensor_slice_util.cc). `lengths` may hold `whole_axis`; both spans must have
/// the same size.
[[nodiscard]] DISTRIB_DECL auto slice_key(std::string_view name, std::span<const std::int64_t> starts,
                                          std::span<const std::int64_t> lengths) -> std::string;

[[nodiscard]] inline auto slice_key(std::string_view name, const Slice& slice) -> std::string {
  return slice_key(name, slice.start.extents(), slice.extents.extents());
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/ordered_code.ipp>
#endif
