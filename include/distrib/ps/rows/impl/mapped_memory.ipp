// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/mapped_memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto system_page_bytes() noexcept -> std::size_t {
  static const std::size_t bytes = std::max(page_bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  return bytes;
}

DISTRIB_DECL MappedMemory::MappedMemory(std::size_t size_bytes, Pages pages, MemoryBudget& budget,
                                        std::error_code& ec) noexcept {
  const std::size_t size = round_up(size_bytes, system_page_bytes());
  budget.take(size, ec);
  if (ec) return;
  data_ = map(size, pages);
  if (data_ == nullptr) {
    ec = {errno, std::generic_category()};
    budget.give_back(size);
    return;
  }
  size_ = size;
  budget_ = &budget;
}

DISTRIB_DECL auto MappedMemory::map(std::size_t size, Pages pages) noexcept -> std::byte* {
  const std::size_t slack = pages == Pages::huge ? huge_page_bytes - system_page_bytes() : 0;
  const int fill = pages == Pages::filled ? MAP_POPULATE : 0;
  void* const memory = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fill, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  if (pages != Pages::huge) return begin;
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(begin)) % huge_page_bytes;
  if (before != 0) ::munmap(begin, before);
  if (before != slack) ::munmap(begin + before + size, slack - before);
  ::madvise(begin + before, size, MADV_HUGEPAGE);  // only a hint: without it the memory works the same
  return begin + before;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
