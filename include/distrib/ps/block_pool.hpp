// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Blocks that are used again once nobody else holds them: no allocation in steady state.
///
/// Threads: `take` on one thread. Other threads may hold blocks, but must hand their references back to that thread
/// (by a message to it) rather than drop them at any moment, so that it sees all that was done with them.
class BlockPool {
 public:
  /// `block_bytes`: the size of blocks unless told.
  explicit BlockPool(std::size_t block_bytes = 0) : block_bytes_{block_bytes} {}

  /// A block that nobody holds; new ones are zero, used ones hold what they held.
  [[nodiscard]] auto take() -> std::shared_ptr<AlignedBuffer> { return take(block_bytes_); }
  [[nodiscard]] auto take(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
    // Blocks come back in about the order they were taken in, so the one that was taken first is looked at first.
    for (std::size_t looked = 0; looked < blocks_.size(); ++looked) {
      next_ = (next_ + 1) % blocks_.size();
      if (blocks_[next_].use_count() != 1) continue;
      blocks_[next_]->resize(size_bytes);
      return blocks_[next_];
    }
    const auto at = blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_.empty() ? 0 : next_ + 1);
    next_ = static_cast<std::size_t>(at - blocks_.begin());
    return *blocks_.insert(at, std::make_shared<AlignedBuffer>(size_bytes));
  }

 private:
  std::size_t block_bytes_;
  std::vector<std::shared_ptr<AlignedBuffer>> blocks_;
  std::size_t next_ = 0;  // the one taken last
};

}  // namespace distrib::inline v0
