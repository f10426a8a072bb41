// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/table_cut.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A cut of a synchronous shard on its way to another replica. Its blocks follow each other: values, slots, then keys,
/// uses and rows of each table; one that is null is empty. Pieces are cut from them by position. A value.
class CutPieces {
 public:
  CutPieces() = default;
  template <class = void> explicit CutPieces(Cut cut) : step_{cut.step} {
    blocks_.push_back(std::move(cut.values));
    for (SharedBuffer& slot : cut.slots) blocks_.push_back(std::move(slot));
    for (TableCut& table : cut.tables)
      for (SharedBuffer* block : {&table.keys, &table.uses, &table.rows}) blocks_.push_back(std::move(*block));
  }

  /// The piece that begins at byte `at`, `most_bytes` at most and within one block; beyond the end an empty one.
  template <class = void> [[nodiscard]] auto piece(std::uint64_t at, std::size_t most_bytes) const -> StateReply {
    StateReply reply{step_, {}, nullptr};
    if (at == 0)
      for (const SharedBuffer& block : blocks_) reply.sizes.push_back(size_of(block));
    for (const SharedBuffer& block : blocks_) {
      if (at >= size_of(block)) {
        at -= size_of(block);
        continue;
      }
      const ByteView rest = block->bytes().subspan(static_cast<std::size_t>(at));
      const ByteView some = rest.first(std::min(rest.size(), most_bytes));
      if (some.size() == block->size()) reply.body = block;
      else reply.body = FrameBody{some}.share();
      break;
    }
    return reply;
  }

 private:
  static auto size_of(const SharedBuffer& block) -> std::size_t { return block == nullptr ? 0 : block->size(); }

  Step step_ = 0;
  std::vector<SharedBuffer> blocks_;
};

/// Puts the pieces of a cut together again, of which the first says how large it is. Takes memory for a cut only that can
/// be one of this shard, and no more than `most_bytes`. Threads: one at a time.
class CutAssembly {
 public:
  template <class = void>
  CutAssembly(const ShardLayout& layout, const JobUpdaters& updaters, std::uint64_t most_bytes)
      : tables_{layout.tables().size()}, most_bytes_{most_bytes} {
    sizes_.push_back(layout.block_bytes());
    for (const ShardLayout::Group& group : layout.groups())
      sizes_.insert(sizes_.end(), updaters[group.updater].slots().size(), group.size_bytes);
  }

  /// Bytes that have come: what is to be asked for next begins there.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }
  /// Whether nothing is missing.
  [[nodiscard]] auto whole() const noexcept -> bool { return !blocks_.empty() && filling_ == blocks_.size(); }

  /// What came for `bytes()`. False: it is no piece of a cut of this shard, or of another cut than the first one.
  template <class = void> [[nodiscard]] auto take(const StateReply& reply) -> bool {
    if (blocks_.empty() && !begin(reply)) return false;
    if (reply.step != step_ || filling_ == blocks_.size()) return reply.step == step_ && reply.body == nullptr;
    const std::span<std::byte> rest = blocks_[filling_]->bytes().subspan(filled_);
    if (reply.body == nullptr || reply.body->size() > rest.size()) return false;
    const ByteView piece = reply.body->bytes();
    std::copy(piece.begin(), piece.end(), rest.begin());  // std::ranges::copy goes by the byte in libstdc++ 12
    bytes_ += reply.body->size();
    filled_ += reply.body->size();
    pass_full_blocks();
    return true;
  }

  /// The cut, once it is whole.
  template <class = void> [[nodiscard]] auto finish() && -> Cut {
    Cut cut;
    cut.step = step_;
    const std::size_t dense = sizes_.size();
    cut.values = std::move(blocks_.front());
    for (std::size_t i = 1; i < dense; ++i) cut.slots.push_back(std::move(blocks_[i]));
    for (std::size_t i = dense; i < blocks_.size(); i += 3) {
      const bool is_initial = blocks_[i]->size() + blocks_[i + 1]->size() + blocks_[i + 2]->size() == 0;
      if (is_initial) cut.tables.emplace_back();
      else cut.tables.push_back({std::move(blocks_[i]), std::move(blocks_[i + 1]), std::move(blocks_[i + 2])});
    }
    return cut;
  }

 private:
  template <class = void> auto begin(const StateReply& reply) -> bool {
    if (reply.step == 0 || reply.sizes.size() != sizes_.size() + 3 * tables_) return false;
    if (!std::equal(sizes_.begin(), sizes_.end(), reply.sizes.begin())) return false;
    std::uint64_t left = most_bytes_;
    for (const std::uint64_t size : reply.sizes) {
      if (size > left) return false;
      left -= size;
    }
    step_ = reply.step;
    for (const std::uint64_t size : reply.sizes)
      blocks_.push_back(std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(static_cast<std::size_t>(size))));
    pass_full_blocks();
    return true;
  }

  void pass_full_blocks() {
    for (; filling_ < blocks_.size() && filled_ == blocks_[filling_]->size(); filled_ = 0) ++filling_;
  }

  std::vector<std::uint64_t> sizes_;  // of values and slots
  std::size_t tables_;
  std::uint64_t most_bytes_;
  Step step_ = 0;
  std::vector<std::shared_ptr<AlignedBuffer>> blocks_;
  std::size_t filling_ = 0;  // the first that is not full, which has
  std::size_t filled_ = 0;  // so many bytes
  std::uint64_t bytes_ = 0;
};

}  // namespace v0
}  // namespace distrib
