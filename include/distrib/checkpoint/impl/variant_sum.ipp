// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/variant_sum.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void VariantSum::add(ByteView bytes) noexcept {
  while (good_ && !bytes.empty()) {
    std::size_t taken = 1;
    switch (part_) {
      case Part::length: add_length(bytes.front()); break;
      case Part::content:
        taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
        crc_ = detail::crc32c_extend(crc_, bytes.first(taken));
        left_ -= taken;
        if (left_ == 0) part_ = Part::checksum;
        break;
      case Part::checksum: add_checksum(bytes.front()); break;
    }
    bytes = bytes.subspan(taken);
  }
}

DISTRIB_DECL auto VariantSum::is_right(std::uint32_t masked_crc) const noexcept -> bool {
  return good_ && elements_ == 0 && mask_crc(crc_) == masked_crc;
}

DISTRIB_DECL void VariantSum::add_length(std::byte digit) noexcept {
  good_ = elements_ > 0 && digits_ < detail::max_varint_bytes;
  if (!good_) return;
  left_ |= (static_cast<std::uint64_t>(digit) & 0x7f) << (7 * digits_++);
  if ((digit & std::byte{0x80}) != std::byte{}) return;
  digits_ = 0;
  std::array<std::byte, 8> length{};
  store_le(length.data(), left_);
  crc_ = detail::crc32c_extend(crc_, length);
  part_ = left_ == 0 ? Part::checksum : Part::content;
}

DISTRIB_DECL void VariantSum::add_checksum(std::byte digit) noexcept {
  stored_ |= static_cast<std::uint32_t>(digit) << (8 * digits_++);
  if (digits_ < 4) return;
  good_ = stored_ == mask_crc(crc_);
  std::array<std::byte, 4> checksum{};
  store_le(checksum.data(), stored_);
  crc_ = detail::crc32c_extend(crc_, checksum);
  stored_ = digits_ = 0;
  part_ = Part::length;
  --elements_;
}

}  // namespace v0
}  // namespace distrib
