// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// TensorFlow's DT_VARIANT: the type in which an iterator is saved. Only TensorFlow knows what it contains.
inline constexpr auto variant_type = static_cast<DType>(21);

/// Verifies the checksums of a tensor of variants (tensorflow/core/util/tensor_bundle/tensor_bundle.cc,
/// WriteVariantTensor). An element is stored as its length (a varint), its bytes, and the masked CRC-32C of everything
/// so far. In this sum a length counts as 8 bytes, little endian, and an earlier checksum as its 4 bytes. The tensor's
/// entry in the index has the masked CRC of all of it.
///
/// Accepts the bytes in pieces of any size. Allocates no memory.
///
/// Threads: one at a time.
class VariantSum {
 public:
  /// For a tensor of `elements` elements.
  explicit VariantSum(std::uint64_t elements) noexcept : elements_{elements} {}

  /// Adds the next bytes.
  DISTRIB_DECL void add(ByteView bytes) noexcept;

  /// True if all elements were added and nothing else, and every checksum is right. `masked_crc` is that of the
  /// tensor's entry.
  [[nodiscard]] DISTRIB_DECL auto is_right(std::uint32_t masked_crc) const noexcept -> bool;

 private:
  enum class Part : std::uint8_t { length, content, checksum };

  DISTRIB_DECL void add_length(std::byte digit) noexcept;
  DISTRIB_DECL void add_checksum(std::byte digit) noexcept;

  std::uint64_t elements_;  // number of elements that are not complete yet
  std::uint64_t left_ = 0;  // bytes of the content that are still missing; or the length, as far as it was read
  std::uint32_t digits_ = 0;  // number of bytes of the length or of the checksum that were read
  std::uint32_t stored_ = 0;  // the checksum, as far as it was read
  std::uint32_t crc_ = 0;
  Part part_ = Part::length;
  bool good_ = true;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/variant_sum.ipp>
#endif
