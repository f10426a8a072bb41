// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// Floats as int8 numbers: each block of 256 elements has a scale, and an element is a whole number of scales, from -127
// to 127, rounded up or down at random. The nearer of the two results is the more likely, so the mean of many roundings
// is the element itself, up to 2^-16 of a scale. The random bits of an element are a function of its position. Nothing
// is kept from one call to the next, so a process that makes the same numbers again makes the same bytes. The same bits
// on every machine, also with denormal numbers flushed to zero.

namespace distrib {
inline namespace v0 {

/// Elements of a block: they share a scale. A tensor is divided into blocks in row-major order, so its last block may
/// be shorter.
inline constexpr std::size_t int8_block = 256;

/// Returns the scale of a block: its largest magnitude divided by 127. Returns 0, so that the block arrives as zeros,
/// if that magnitude is below 2^-100 (7.9e-31); NaN, so that the whole block arrives as NaN, if an element is not
/// finite.
[[nodiscard]] DISTRIB_DECL auto int8_scale(std::span<const float> block) noexcept -> float;

/// Writes an int8 for each element. `scale`: of a block that these elements are part of. `random`, which should come
/// from `mix_bits`, and the position of the first element, counted in the whole tensor, decide the directions; so
/// pieces of a tensor get the bytes that the whole would have.
DISTRIB_DECL void encode_int8(std::span<const float> elements, float scale, std::uint64_t random,
                              std::uint64_t position, std::byte* to) noexcept;

/// Reads `elements.size()` numbers. The bytes and `scale` may come from an untrusted peer: with a scale that is
/// infinite or NaN all elements are NaN, with any other each is its int8 times the scale.
DISTRIB_DECL void decode_int8(const std::byte* from, float scale, std::span<float> elements) noexcept;

/// Returns the size of a row of `elements` in bytes: for each block 4 bytes for its scale, then a byte for each
/// element.
[[nodiscard]] constexpr auto int8_row_bytes(std::size_t elements) noexcept -> std::size_t {
  return elements + (elements + int8_block - 1) / int8_block * sizeof(float);
}

/// Writes a row of `int8_row_bytes`, whose positions begin at 0. `to` may have any alignment.
DISTRIB_DECL void encode_int8_row(std::span<const float> row, std::uint64_t random, std::byte* to) noexcept;

/// Reads what `encode_int8_row` has written, or any other bytes: see `decode_int8`.
DISTRIB_DECL void decode_int8_row(const std::byte* from, std::span<float> row) noexcept;

namespace detail {

/// Divides a piece of a tensor of shape `whole` at the borders of the tensor's blocks. Calls `visit(position in the
/// piece, position in the tensor, count, number)` for runs of consecutive elements in ascending order. `number` counts
/// the blocks that the piece has elements of, from 0. Returns how many there are.
template <class Visit>
auto for_each_int8_run(const Slice& piece, const Shape& whole, Visit&& visit) -> std::size_t {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::size_t blocks = 0;
  std::size_t current = none;
  for_each_overlap(piece, Slice::whole(whole), [&](std::size_t at, std::size_t in_whole, std::size_t count) {
    while (count != 0) {
      const std::size_t block = in_whole / int8_block;
      const std::size_t run = std::min(count, int8_block - in_whole % int8_block);
      if (block != current) ++blocks;
      current = block;
      visit(at, in_whole, run, blocks - 1);
      at += run;
      in_whole += run;
      count -= run;
    }
  });
  return blocks;
}

/// Returns the bits of the largest magnitude, 0 without elements. Those of NaN are larger than those of infinity.
[[nodiscard]] DISTRIB_DECL auto largest_magnitude(std::span<const float> elements) noexcept -> std::uint32_t;

/// As `encode_int8`: eight elements at a time where the machine can, if `by_eights`; otherwise one by one. Both give
/// the same bytes.
DISTRIB_DECL void encode_int8_blocks(std::span<const float> elements, float scale, std::uint64_t random,
                                     std::uint64_t position, std::byte* to,
                                     bool by_eights = has_half_instructions()) noexcept;

/// As `decode_int8`, in the same two ways.
DISTRIB_DECL void decode_int8_blocks(const std::byte* from, float scale, std::span<float> elements,
                                     bool by_eights = has_half_instructions()) noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/int8_blocks.ipp>
#endif
