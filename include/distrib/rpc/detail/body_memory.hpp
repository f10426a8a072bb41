// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Memory for bodies that come one after the other: that of the last one is used again for the next of the same size.
/// Taken from the system and given back each time, large memory costs more than the bytes that are received into it.
///
/// Threads: one at a time; what it gave may be dropped on any.
class BodyMemory {
 public:
  /// Memory that is written before it is read. It comes back here when the last one who shares it lets go.
  [[nodiscard]] auto take(std::size_t bytes) -> std::shared_ptr<AlignedBuffer> {
    if (kept_ == nullptr) kept_ = std::shared_ptr<Kept>{new Kept};
    kept_->wanted.store(true, std::memory_order_relaxed);
    AlignedBuffer* buffer = kept_->buffer.exchange(nullptr, std::memory_order_acquire);
    if (buffer == nullptr || buffer->size() != bytes) {
      delete buffer;
      buffer = new AlignedBuffer{AlignedBuffer::for_overwrite(bytes)};
    }
    return {buffer, GiveBack{kept_}};  // which is called, too, when this fails
  }

  /// Whether memory is kept, or will be.
  [[nodiscard]] auto keeps() const noexcept -> bool {
    return kept_ != nullptr && kept_->wanted.load(std::memory_order_relaxed);
  }

  /// Keeps none, until more is taken.
  void release() noexcept {
    if (kept_ == nullptr) return;
    kept_->wanted.store(false, std::memory_order_relaxed);
    delete kept_->buffer.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  struct Kept {
    Kept() = default;
    Kept(const Kept&) = delete;
    auto operator=(const Kept&) -> Kept& = delete;
    ~Kept() { delete buffer.load(std::memory_order_acquire); }

    std::atomic<AlignedBuffer*> buffer = nullptr;
    std::atomic<bool> wanted = true;
  };

  struct GiveBack {
    std::shared_ptr<Kept> to;
    void operator()(AlignedBuffer* buffer) const noexcept {
      if (to->wanted.load(std::memory_order_relaxed)) buffer = to->buffer.exchange(buffer, std::memory_order_acq_rel);
      delete buffer;
    }
  };

  std::shared_ptr<Kept> kept_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
