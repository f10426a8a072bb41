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
  [[nodiscard]] DISTRIB_DECL auto take(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;

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

  DISTRIB_DECL auto make(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;
  DISTRIB_DECL auto make_apart(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer>;

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/block_pool.ipp>
#endif
