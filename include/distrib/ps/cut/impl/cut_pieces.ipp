// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_pieces.hpp>

#include <span>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto CutPieces::piece(std::uint64_t at, std::size_t most_bytes) const -> StateReply {
  StateReply reply;
  reply.step = step_;
  if (at == 0) {
    reply.lineage = lineage_;
    for (const SharedBuffer& block : blocks_) reply.sizes.push_back(size_of(block));
  }
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

DISTRIB_DECL auto CutAssembly::take(const StateReply& reply) -> bool {
  if (blocks_.empty() && !begin(reply)) return false;
  if (reply.step != step_ || filling_ == blocks_.size()) return reply.step == step_ && reply.body == nullptr;
  const std::span<std::byte> rest = blocks_[filling_]->bytes().subspan(filled_);
  if (reply.body == nullptr || reply.body->size() > rest.size()) return false;
  const ByteView piece = reply.body->bytes();
  std::copy(piece.begin(), piece.end(), rest.begin());  // std::ranges::copy copies byte by byte in libstdc++ 12
  bytes_ += reply.body->size();
  filled_ += reply.body->size();
  pass_full_blocks();
  return true;
}

DISTRIB_DECL auto CutAssembly::finish() && -> Cut {
  Cut cut;
  cut.step = step_;
  cut.lineage = std::move(lineage_);
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

DISTRIB_DECL auto CutAssembly::begin(const StateReply& reply) -> bool {
  if (reply.step == 0 || reply.sizes.size() != sizes_.size() + 3 * tables_) return false;
  if (!std::equal(sizes_.begin(), sizes_.end(), reply.sizes.begin())) return false;
  if (!reply.lineage.empty()) {
    auto told = parse_lineage(reply.lineage);
    if (!told) return false;
    lineage_ = *std::move(told);
  }
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

}  // namespace v0
}  // namespace distrib
