// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/block_pool.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto BlockPool::take(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
  // Blocks are returned in about the order in which they were taken, so look first at the block that was taken longest
  // ago.
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

DISTRIB_DECL auto BlockPool::make(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
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

DISTRIB_DECL auto BlockPool::make_apart(std::size_t size_bytes) -> std::shared_ptr<AlignedBuffer> {
  apart_bytes_ += size_bytes;
  return std::make_shared<AlignedBuffer>(size_bytes);
}

}  // namespace v0
}  // namespace distrib
