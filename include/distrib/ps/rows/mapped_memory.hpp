// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/rows/memory_budget.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Sizes of the smallest page that a system may have, and of a huge page where the smallest has 4 KiB.
inline constexpr std::size_t page_bytes = std::size_t{4} << 10;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Returns the size of the pages of this system: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64.
[[nodiscard]] DISTRIB_DECL auto system_page_bytes() noexcept -> std::size_t;

/// Returns `bytes` rounded up to a whole number of `unit`s.
constexpr auto round_up(std::size_t bytes, std::size_t unit) noexcept -> std::size_t {
  return (bytes + unit - 1) / unit * unit;
}

/// How memory is provided by the operating system.
enum class Pages {
  small,  ///< Each page when it is first touched.
  filled,  ///< All at once: takes a quarter of the time of touching each page, if all of it will be written.
  huge,  ///< Begins at a multiple of 2 MiB and asks for huge pages; without effect if the system has none of 2 MiB.
};

/// Owns zeroed memory of the operating system, taken from a budget. Movable: the memory keeps its address.
class MappedMemory {
 public:
  /// No memory.
  MappedMemory() = default;

  /// Maps `size_bytes`, rounded up to whole pages of the system. If it cannot, the object has no memory, and `ec` is
  /// `ps_errc::budget_exceeded` or an error of the operating system. The budget must outlive the object.
  DISTRIB_DECL MappedMemory(std::size_t size_bytes, Pages pages, MemoryBudget& budget, std::error_code& ec) noexcept;

  MappedMemory(MappedMemory&& other) noexcept { swap(other); }
  auto operator=(MappedMemory&& other) noexcept -> MappedMemory& {
    MappedMemory old{std::move(other)};
    swap(old);
    return *this;
  }
  ~MappedMemory() {
    if (data_ == nullptr) return;
    ::munmap(data_, size_);
    budget_->give_back(size_);
  }

  /// Returns the first byte; null if there is no memory.
  [[nodiscard]] auto data() const noexcept -> std::byte* { return data_; }
  /// Returns the size in bytes: whole pages.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

 private:
  DISTRIB_DECL static auto map(std::size_t size, Pages pages) noexcept -> std::byte*;

  void swap(MappedMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(budget_, other.budget_);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryBudget* budget_ = nullptr;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/mapped_memory.ipp>
#endif
