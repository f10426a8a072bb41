// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/decl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

// How a checkpoint stores a tensor of texts (tensorflow/core/util/tensor_bundle/tensor_bundle.cc, WriteStringTensor):
// all lengths as varints; the masked CRC of the lengths, each counted as 4 bytes (as 8 bytes above 2^32 - 1); the
// texts. The CRC of the whole counts the lengths in the same way, then the stored CRC, then the texts.

namespace detail {
inline auto extend_by_length(std::uint32_t crc, std::uint64_t length) -> std::uint32_t {
  std::array<std::byte, 8> bytes{};
  store_le(bytes.data(), length);
  return crc32c_extend(crc, ByteView{bytes}.first(length <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8));
}
}  // namespace detail

/// Appends the bytes of a string tensor to `to`. Returns the masked CRC for its entry.
[[nodiscard]] DISTRIB_DECL auto append_strings(std::vector<std::byte>& to, std::span<const std::string> values)
    -> std::uint32_t;

/// Reads the bytes of a string tensor of `count` elements, and replaces the contents of `values` by its texts. Verifies
/// both checksums; returns false if the bytes are damaged; `values` is then unspecified. Memory: the texts, which are
/// never more than `bytes`, and one object for each element.
[[nodiscard]] DISTRIB_DECL auto parse_strings(ByteView bytes, std::uint64_t count, std::uint32_t masked_crc,
                                              std::vector<std::string>& values) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/string_tensor.ipp>
#endif
