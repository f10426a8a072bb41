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

/// Memory for bodies that arrive one after another: the memory of the last body is reused for the next body of the same
/// size. To allocate and free large memory each time costs more than to receive the bytes into it.
///
/// Threads: one at a time; the returned buffers may be released on any thread.
class BodyMemory {
 public:
  /// Returns a buffer of `bytes` bytes with arbitrary contents. When its last owner releases it, it is kept here for
  /// the next `take`, unless `release` was called meanwhile.
  [[nodiscard]] auto take(std::size_t bytes) -> std::shared_ptr<AlignedBuffer> {
    if (kept_ == nullptr) kept_ = std::shared_ptr<Kept>{new Kept};
    kept_->wanted.store(true, std::memory_order_relaxed);
    AlignedBuffer* buffer = kept_->buffer.exchange(nullptr, std::memory_order_acquire);
    if (buffer == nullptr || buffer->size() != bytes) {
      delete buffer;
      buffer = new AlignedBuffer{AlignedBuffer::for_overwrite(bytes)};
    }
    return {buffer, GiveBack{kept_}};  // if this throws, GiveBack is called for the buffer
  }

  /// True if a buffer is kept, or will be kept when its last owner releases it.
  [[nodiscard]] auto keeps() const noexcept -> bool {
    return kept_ != nullptr && kept_->wanted.load(std::memory_order_relaxed);
  }

  /// Frees the kept buffer, and keeps no released buffer until the next `take`.
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
