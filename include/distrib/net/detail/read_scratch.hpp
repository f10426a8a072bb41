// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Memory that one handler reads into, and that is free again when it returns: each thread has one of these, however
/// many connections it serves. Handlers that run inside of another one, because that runs the context itself, get
/// memory of their own.
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

  /// This thread's, while nobody has it.
  static auto idle() noexcept -> AlignedBuffer& {
    static thread_local AlignedBuffer memory;
    return memory;
  }

  AlignedBuffer memory_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
