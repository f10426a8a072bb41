// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// TensorFlow's DT_VARIANT: what a saved iterator has. Its content is known to TensorFlow alone.
inline constexpr auto variant_type = static_cast<DType>(21);

/// The checksums of a tensor of variants (tensorflow/core/util/tensor_bundle/tensor_bundle.cc, WriteVariantTensor). Each
/// element is its length as a varint, its bytes, and the masked CRC-32C of all so far, in which a length counts as 8
/// bytes, little endian, and an earlier checksum as its 4 bytes. The tensor's entry has the masked CRC of all of it.
///
/// Takes the bytes in pieces of any size. Threads: one at a time. No allocation.
class VariantSum {
 public:
  /// Of a tensor of so many elements.
  explicit VariantSum(std::uint64_t elements) noexcept : elements_{elements} {}

  /// The bytes that follow.
  DISTRIB_DECL void add(ByteView bytes) noexcept;

  /// Whether all elements have come and nothing else, and every checksum is right; `masked_crc` is that of the entry.
  [[nodiscard]] DISTRIB_DECL auto is_right(std::uint32_t masked_crc) const noexcept -> bool;

 private:
  enum class Part : std::uint8_t { length, content, checksum };

  DISTRIB_DECL void add_length(std::byte digit) noexcept;
  DISTRIB_DECL void add_checksum(std::byte digit) noexcept;

  std::uint64_t elements_;  // that are still to come
  std::uint64_t left_ = 0;  // of the content; or the length, as far as it is known
  std::uint32_t digits_ = 0;  // bytes of the length or of the checksum that have come
  std::uint32_t stored_ = 0;  // the checksum, as far as it is known
  std::uint32_t crc_ = 0;
  Part part_ = Part::length;
  bool good_ = true;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/variant_sum.ipp>
#endif
