// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/mapped_memory.hpp>

#include "support/catch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

using distrib::MemoryBudget;
using distrib::ps_errc;
using distrib::detail::MappedMemory;
using distrib::detail::Pages;

// 4 KiB on x86-64. On aarch64 a system may have pages of 16 or 64 KiB: tests/consumer/aarch64.sh runs these with all three.
TEST_CASE("MappedMemory: takes whole pages of zeros from the budget", "[ps]") {
  const std::size_t page = distrib::detail::system_page_bytes();
  CHECK(page == static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  MemoryBudget budget{std::size_t{8} << 20};
  std::error_code ec;
  for (const Pages pages : {Pages::small, Pages::filled, Pages::huge}) {
    const MappedMemory memory{page + 1'000, pages, budget, ec};
    REQUIRE_FALSE(ec);
    CHECK(memory.size() == 2 * page);
    CHECK(budget.used_bytes() == 2 * page);
    const std::span bytes{memory.data(), memory.size()};
    CHECK(std::ranges::count(bytes, std::byte{0}) == static_cast<std::ptrdiff_t>(2 * page));
    std::ranges::fill(bytes, std::byte{1});  // all of it can be written
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    CHECK(address % (pages == Pages::huge ? distrib::detail::huge_page_bytes : page) == 0);
  }
  CHECK(budget.used_bytes() == 0);
}

TEST_CASE("MappedMemory: keeps its address when moved, and returns its memory once", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 20};
  std::error_code ec;
  {
    MappedMemory first{1, Pages::small, budget, ec};
    const std::byte* const address = first.data();
    MappedMemory second{std::move(first)};
    CHECK(second.data() == address);
    MappedMemory third{1, Pages::small, budget, ec};
    third = std::move(second);  // frees the old memory of `third`
    CHECK(third.data() == address);
    CHECK(budget.used_bytes() == distrib::detail::system_page_bytes());
  }
  CHECK(budget.used_bytes() == 0);
}

TEST_CASE("MappedMemory: fails beyond the budget, and beyond the memory of the system", "[ps]") {
  const std::size_t page = distrib::detail::system_page_bytes();
  MemoryBudget small{page};
  std::error_code ec;
  const MappedMemory none{page + 1, Pages::small, small, ec};
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(none.data() == nullptr);
  CHECK(small.used_bytes() == 0);

  MemoryBudget endless{~std::size_t{0}};
  const MappedMemory too_much{std::size_t{1} << 60, Pages::small, endless, ec};
  CHECK(ec == std::errc::not_enough_memory);
  CHECK(too_much.data() == nullptr);
  CHECK(endless.used_bytes() == 0);
}
