// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Memory for the reads of one handler, which is free again when the handler returns. All connections of a thread share
/// one memory of 256 KiB. A handler that runs inside another handler (which runs the context itself) gets memory of its
/// own.
class ReadScratch {
 public:
  ReadScratch() : memory_{std::exchange(idle(), {})} {
    if (memory_.size() == 0) memory_ = AlignedBuffer::for_overwrite(size);
  }
  ReadScratch(const ReadScratch&) = delete;
  auto operator=(const ReadScratch&) -> ReadScratch& = delete;
  ~ReadScratch() { idle() = std::move(memory_); }

  [[nodiscard]] auto bytes() noexcept -> std::span<std::byte> { return memory_.bytes(); }

 private:
  static constexpr std::size_t size = std::size_t{256} << 10;

  /// The memory of this thread while no handler uses it.
  static auto idle() noexcept -> AlignedBuffer& {
    static thread_local AlignedBuffer memory;
    return memory;
  }

  AlignedBuffer memory_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
