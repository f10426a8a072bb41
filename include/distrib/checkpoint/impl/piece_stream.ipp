// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/piece_stream.hpp>

#include <distrib/checkpoint/crc32.hpp>
#include <distrib/core/crc32c.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto PieceStream::read(std::span<std::byte> to, Error& error) -> bool {
  if (!piece_.strides.empty()) {
    if (gathered_.empty() && !to.empty() && !gather(error)) return false;
    std::copy_n(gathered_.begin() + static_cast<std::ptrdiff_t>(done_), to.size(), to.begin());
  } else if (!file_.read(piece_.offset + done_, to, error)) {
    return false;
  }
  done_ += to.size();
  using Checksum = StoredTensor::Checksum;
  if (piece_.checksum == Checksum::none) return true;
  const bool is_zip = piece_.checksum == Checksum::crc32;
  crc_ = is_zip ? crc32_extend(crc_, to) : crc32c_extend(crc_, to);
  if (left() != 0 || (is_zip ? crc_ : mask_crc(crc_)) == piece_.masked_crc) return true;
  error = {checkpoint_errc::corrupt_data, where_};
  return false;
}

// Reads everything from the first to the last element, because single elements would need a call of the system each.
DISTRIB_DECL auto PieceStream::gather(Error& error) -> bool {
  const Shape& extents = piece_.slice.extents;
  std::uint64_t last = 0;
  for (std::size_t axis = 0; axis < extents.rank(); ++axis)
    last += static_cast<std::uint64_t>(extents[axis] - 1) * static_cast<std::uint64_t>(piece_.strides[axis]);
  std::vector<std::byte> stored((static_cast<std::size_t>(last) + 1) * element_bytes_);
  if (!file_.read(piece_.offset, stored, error)) return false;
  gathered_.resize(static_cast<std::size_t>(piece_.size_bytes));
  std::array<std::int64_t, Shape::max_rank> at{};
  std::int64_t from = 0;
  for (std::size_t to = 0; to < gathered_.size(); to += element_bytes_) {
    std::memcpy(gathered_.data() + to, stored.data() + static_cast<std::size_t>(from) * element_bytes_, element_bytes_);
    for (std::size_t axis = extents.rank(); axis-- > 0;) {
      from += piece_.strides[axis];
      if (++at[axis] < extents[axis]) break;
      from -= piece_.strides[axis] * extents[axis];
      at[axis] = 0;
    }
  }
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
