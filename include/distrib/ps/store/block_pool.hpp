// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A pool of blocks that are used again as soon as only the pool holds them: no allocation in steady state.
///
/// The first blocks, up to 2 MiB together, are allocated one by one. After that the pool takes memory for at least
/// eight blocks at once, in multiples of 2 MiB, and has the system provide all its pages at once: touching each page of
/// the blocks that a worker keeps for sending again would cost more. Such memory is freed when the pool and all blocks
/// in it are gone.
///
/// Threads: `take` on one thread. Other threads may hold blocks. Trap: they must not simply drop their references, but
/// pass them back to the pool's thread (in a message, for example), so that this thread sees all that was done with the
/// block.
class BlockPool {
 public:
  /// `block_bytes`: the size that `take()` asks for.
  explicit BlockPool(std::size_t block_bytes = 0) : block_bytes_{block_bytes} {}

  /// Returns a block of `block_bytes` that only the pool and the caller hold. A new block is zero; a used block holds
  /// what it held before.
  [[nodiscard]] auto take() -> std::shared_ptr<AlignedBuffer> { return take(block_bytes_); }
  /// Returns such a block of `size_bytes`. A used block that is too small gets new, zeroed memory (see
  /// `AlignedBuffer::resize`).
  [[nodiscard]] DISTRIB_DECL auto take(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;

 private:
  // `take` looks at no more blocks than this before it makes a new one. Each look without success shortens the search
  // by one: while no block is returned (for example, until the next cut), searching would take longer with each block
  // that is made.
  static constexpr std::size_t most_patience = 64;

  struct Entry {
    std::shared_ptr<AlignedBuffer> block;
    std::size_t next;  // index of the block that was taken after this one
  };

  struct Slab {
    MemoryBudget budget{std::size_t(-1)};
    detail::MappedMemory memory;
  };
  struct InSlab {
    std::shared_ptr<const Slab> slab;
    AlignedBuffer buffer;
  };

  DISTRIB_DECL auto make(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;
  DISTRIB_DECL auto make_apart(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;

  std::size_t block_bytes_;
  std::vector<Entry> ring_;  // a circular list, in the order in which the blocks were taken
  std::size_t last_ = 0;  // index of the block that was taken last
  std::size_t patience_ = most_patience;
  std::size_t apart_bytes_ = 0;  // bytes of blocks that lie in no slab
  std::shared_ptr<Slab> slab_;  // the newest slab; blocks are cut from it
  std::size_t slab_used_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/block_pool.ipp>
#endif
