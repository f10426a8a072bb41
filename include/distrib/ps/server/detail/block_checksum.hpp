// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/rpc/frame_checksum.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Computes the CRC-32C of blocks. Remembers the last block and its checksum, because the same block is sent several
/// times: every rank asks for the values of a step.
class BlockChecksum {
 public:
  [[nodiscard]] auto of(const SharedBuffer& block) -> std::uint32_t {
    if (last_ != block) {
      last_ = block;
      checksum_ = FrameChecksum<void>::of(block->bytes());
    }
    return checksum_;
  }

 private:
  SharedBuffer last_;
  std::uint32_t checksum_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
