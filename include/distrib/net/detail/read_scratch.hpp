// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace distrib::inline v0::detail {

/// Memory that one handler reads into, and that is free again when it returns: each thread has one of these, however
/// many connections it serves. Handlers that run inside of another one, because that runs the context itself, get
/// memory of their own.
class ReadScratch {
 public:
  ReadScratch() : memory_{std::move(idle())} {
    if (memory_ == nullptr) memory_ = std::make_unique_for_overwrite<std::byte[]>(size);
  }
  ReadScratch(const ReadScratch&) = delete;
  auto operator=(const ReadScratch&) -> ReadScratch& = delete;
  ~ReadScratch() { idle() = std::move(memory_); }

  [[nodiscard]] auto bytes() const noexcept -> std::span<std::byte> { return {memory_.get(), size}; }

 private:
  static constexpr std::size_t size = std::size_t{256} << 10;

  /// This thread's, while nobody has it.
  static auto idle() noexcept -> std::unique_ptr<std::byte[]>& {
    static thread_local std::unique_ptr<std::byte[]> memory;
    return memory;
  }

  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace distrib::inline v0::detail
