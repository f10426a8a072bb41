// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Blocks that are used again once nobody else holds them: no allocation in steady state. A pool that grows beyond 2 MiB
/// takes its memory for eight blocks or 2 MiB at a time, pages included, as touching each page of what a worker keeps to
/// send again would cost it more; that is given back when the pool and all its blocks are gone.
///
/// Threads: `take` on one thread. Other threads may hold blocks, but must hand their references back to that thread
/// (by a message to it) rather than drop them at any moment, so that it sees all that was done with them.
class BlockPool {
 public:
  /// `block_bytes`: the size of blocks unless told.
  explicit BlockPool(std::size_t block_bytes = 0) : block_bytes_{block_bytes} {}

  /// A block that nobody holds; new ones are zero, used ones hold what they held.
  [[nodiscard]] auto take() -> std::shared_ptr<AlignedBuffer> { return take(block_bytes_); }
  template <class = void> [[nodiscard]] auto take(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
    // Blocks come back in about the order they were taken in, so the one that was taken first is looked at first.
    for (std::size_t looks = std::min(ring_.size(), patience_); looks != 0; --looks) {
      last_ = ring_[last_].next;
      const std::shared_ptr<AlignedBuffer>& block = ring_[last_].block;
      if (block.use_count() != 1) continue;
      patience_ = most_patience;
      block->resize(size_bytes);
      return block;
    }
    patience_ = std::max<std::size_t>(1, patience_ - 1);
    const std::size_t next = ring_.empty() ? 0 : ring_[last_].next;
    ring_.push_back({make(size_bytes), next});
    ring_[last_].next = ring_.size() - 1;
    last_ = ring_.size() - 1;
    return ring_[last_].block;
  }

 private:
  // So many held ones are passed over before another one is made. While none of them comes back, of what is kept until
  // a cut, say, looking for one would take longer with each that is made.
  static constexpr std::size_t most_patience = 64;

  struct Entry {
    std::shared_ptr<AlignedBuffer> block;
    std::size_t next;  // that was taken after it
  };

  struct Slab {
    MemoryBudget budget{std::size_t(-1)};
    detail::MappedMemory memory;
  };
  struct InSlab {
    std::shared_ptr<const Slab> slab;
    AlignedBuffer buffer;
  };

  template <class = void> auto make(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
    if (apart_bytes_ < detail::huge_page_bytes || size_bytes == 0) return make_apart(size_bytes);
    const std::size_t stride = detail::round_up(size_bytes, AlignedBuffer::alignment_of(size_bytes));
    if (slab_ == nullptr || slab_->memory.size() - slab_used_ < stride) {
      std::error_code ec;
      auto slab = std::make_shared<Slab>();
      slab->memory = {detail::round_up(8 * stride, detail::huge_page_bytes), detail::Pages::filled, slab->budget, ec};
      if (ec) return make_apart(size_bytes);
      slab_ = std::move(slab);
      slab_used_ = 0;
    }
    const auto block =
        std::make_shared<InSlab>(InSlab{slab_, AlignedBuffer::within({slab_->memory.data() + slab_used_, size_bytes})});
    slab_used_ += stride;
    return {block, &block->buffer};
  }
  auto make_apart(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
    apart_bytes_ += size_bytes;
    return std::make_shared<AlignedBuffer>(size_bytes);
  }

  std::size_t block_bytes_;
  std::vector<Entry> ring_;  // of blocks in the order they were taken in
  std::size_t last_ = 0;  // the one taken last
  std::size_t patience_ = most_patience;
  std::size_t apart_bytes_ = 0;  // of blocks that lie in no slab
  std::shared_ptr<Slab> slab_;  // the newest
  std::size_t slab_used_ = 0;
};

}  // namespace v0
}  // namespace distrib
