// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Blocks of one size that are used again once nobody else holds them: no allocation in steady state.
///
/// Threads: `take` on one thread. Other threads may hold blocks, but must hand their references back to that thread
/// (by a message to it) rather than drop them at any moment, so that it sees all that was done with them.
class BlockPool {
 public:
  explicit BlockPool(std::size_t block_bytes) : block_bytes_{block_bytes} {}

  /// A block that nobody holds; new ones are zero, used ones hold what they held.
  [[nodiscard]] auto take() -> std::shared_ptr<AlignedBuffer> {
    for (const auto& block : blocks_)
      if (block.use_count() == 1) return block;
    blocks_.push_back(std::make_shared<AlignedBuffer>(block_bytes_));
    return blocks_.back();
  }

 private:
  std::size_t block_bytes_;
  std::vector<std::shared_ptr<AlignedBuffer>> blocks_;
};

}  // namespace distrib::inline v0
