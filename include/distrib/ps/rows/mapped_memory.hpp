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

/// Size of a small page and of a huge one. Where pages are larger than 4 KiB the operating system rounds by itself.
inline constexpr std::size_t page_bytes = std::size_t{4} << 10;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// `bytes` rounded up to a whole number of `unit`s.
constexpr auto round_up(std::size_t bytes, std::size_t unit) noexcept -> std::size_t {
  return (bytes + unit - 1) / unit * unit;
}

/// How memory is backed.
enum class Pages {
  small,   ///< Each page when it is touched.
  filled,  ///< All at once: a quarter of the time of touching each, for memory that will all be written.
  huge,    ///< Begins at a multiple of 2 MiB and asks for huge pages; without effect where the system has none.
};

/// Owns zeroed memory of the operating system, taken from a budget. Movable; a moved one keeps its addresses.
class MappedMemory {
 public:
  /// No memory.
  MappedMemory() = default;

  /// Maps `size_bytes`, rounded up to whole pages. On failure there are none and `ec` is `ps_errc::budget_exceeded` or
  /// what the system says.
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

  [[nodiscard]] auto data() const noexcept -> std::byte* { return data_; }
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
