// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>

#include <cstddef>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How many bytes the tables of a shard may hold together. Counts whole mappings, as they were requested from the
/// operating system. Must outlive the tables that use it.
///
/// A budget may be a part of another one, which limits several tables together: what is taken from the part is taken
/// from the whole too.
///
/// Threads: one at a time.
class MemoryBudget {
 public:
  /// Makes a budget of `limit_bytes`; nothing of it is taken.
  explicit MemoryBudget(std::size_t limit_bytes) noexcept : limit_bytes_{limit_bytes} {}
  /// Makes a part of `whole`, which must outlive it.
  MemoryBudget(std::size_t limit_bytes, MemoryBudget& whole) noexcept : limit_bytes_{limit_bytes}, whole_{&whole} {}
  MemoryBudget(const MemoryBudget&) = delete;
  auto operator=(const MemoryBudget&) -> MemoryBudget& = delete;

  /// Takes `size_bytes` from the budget. If that is too much, takes nothing and sets `ec` to
  /// `ps_errc::budget_exceeded`.
  void take(std::size_t size_bytes, std::error_code& ec) noexcept {
    ec.clear();
    if (size_bytes > limit_bytes_ - used_bytes_) {
      ec = ps_errc::budget_exceeded;
      return;
    }
    if (whole_ != nullptr) whole_->take(size_bytes, ec);
    if (!ec) used_bytes_ += size_bytes;
  }

  /// Returns `size_bytes` that were taken.
  void give_back(std::size_t size_bytes) noexcept {
    used_bytes_ -= size_bytes;
    if (whole_ != nullptr) whole_->give_back(size_bytes);
  }

  [[nodiscard]] auto used_bytes() const noexcept -> std::size_t { return used_bytes_; }
  [[nodiscard]] auto limit_bytes() const noexcept -> std::size_t { return limit_bytes_; }

 private:
  std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
  MemoryBudget* whole_ = nullptr;
};

}  // namespace v0
}  // namespace distrib
