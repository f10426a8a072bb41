// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/table_cut.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A cut of a synchronous shard, divided into pieces for the other replica. Its blocks follow each other: values,
/// slots, then keys, uses and rows of each table; a null block is empty. The position of a piece is the number of bytes
/// before it in all blocks together. A value.
class CutPieces {
 public:
  /// No cut: its only piece says so by step 0.
  CutPieces() = default;
  explicit CutPieces(Cut cut) : step_{cut.step}, lineage_{to_text(cut.lineage)} {
    blocks_.push_back(std::move(cut.values));
    for (SharedBuffer& slot : cut.slots) blocks_.push_back(std::move(slot));
    for (TableCut& table : cut.tables)
      for (SharedBuffer* block : {&table.keys, &table.uses, &table.rows}) blocks_.push_back(std::move(*block));
  }

  /// Returns the piece that begins at byte `at`: at most `most_bytes`, and from one block. At the end of the cut and
  /// beyond it the piece has a null body. The piece at 0 also has the lineage and the sizes of the blocks.
  [[nodiscard]] DISTRIB_DECL auto piece(std::uint64_t at, std::size_t most_bytes) const -> StateReply;

 private:
  static auto size_of(const SharedBuffer& block) -> std::size_t { return block == nullptr ? 0 : block->size(); }

  Step step_ = 0;
  std::string lineage_;
  std::vector<SharedBuffer> blocks_;
};

/// Puts the pieces of a cut together. The first piece says how large each block of the cut is. Memory is allocated only
/// if a cut of this shard can have these sizes, and if they are at most `most_bytes` together.
///
/// Threads: one at a time.
class CutAssembly {
 public:
  /// `only_settings`: the lineage of a cut that arrives without one, from an older version.
  CutAssembly(const ShardLayout& layout, const JobUpdaters& updaters, Lineage only_settings, std::uint64_t most_bytes)
      : tables_{layout.tables().size()}, lineage_{std::move(only_settings)}, most_bytes_{most_bytes} {
    sizes_.push_back(layout.block_bytes());
    for (const ShardLayout::Group& group : layout.groups())
      sizes_.insert(sizes_.end(), updaters[group.updater].slots().size(), group.size_bytes);
  }

  /// Returns how many bytes have arrived: the position of the next piece.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }
  /// True if nothing is missing.
  [[nodiscard]] auto whole() const noexcept -> bool { return !blocks_.empty() && filling_ == blocks_.size(); }

  /// Adds the piece that was requested from `bytes()` on. Returns false if it is not a piece of a cut of this shard, or
  /// belongs to another cut than the first piece; it is then not added.
  [[nodiscard]] DISTRIB_DECL auto take(const StateReply& reply) -> bool;

  /// Returns the cut. Only if `whole()`.
  [[nodiscard]] DISTRIB_DECL auto finish() && -> Cut;

 private:
  DISTRIB_DECL auto begin(const StateReply& reply) -> bool;

  void pass_full_blocks() {
    for (; filling_ < blocks_.size() && filled_ == blocks_[filling_]->size(); filled_ = 0) ++filling_;
  }

  std::vector<std::uint64_t> sizes_;  // of values and slots
  std::size_t tables_;
  Lineage lineage_;
  std::uint64_t most_bytes_;
  Step step_ = 0;
  std::vector<std::shared_ptr<AlignedBuffer>> blocks_;
  std::size_t filling_ = 0;  // the first block that is not full,
  std::size_t filled_ = 0;  // and how many bytes it has
  std::uint64_t bytes_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_pieces.ipp>
#endif
