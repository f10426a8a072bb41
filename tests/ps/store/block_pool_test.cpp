// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/block_pool.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

using distrib::BlockPool;

TEST_CASE("BlockPool: a block is used again when only the pool holds it", "[ps]") {
  BlockPool pool{100};
  auto first = pool.take();
  auto second = pool.take();
  CHECK(first != second);
  CHECK(first->size() == 100);
  for (const std::byte b : first->bytes()) CHECK(b == std::byte{0});

  first->as<float>()[0] = 7.0F;
  const distrib::AlignedBuffer* memory = first.get();
  const distrib::SharedBuffer reader = first;
  first = nullptr;
  CHECK(pool.take().get() != memory);  // `reader` still holds that block
  CHECK(reader->as<float>()[0] == 7.0F);
}

TEST_CASE("BlockPool: no allocation in steady state", "[ps]") {
  BlockPool pool{64};
  std::set<const void*> seen;
  std::shared_ptr<distrib::AlignedBuffer> published;
  for (int i = 0; i < 100; ++i) {
    auto next = pool.take();
    next->as<float>()[0] += 1.0F;  // the block still holds what it held before
    seen.insert(next.get());
    published = next;
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("BlockPool: finds free blocks in any order, and makes few more blocks than were held at once", "[ps]") {
  BlockPool pool{64};
  std::mt19937 random{1};
  std::vector<std::shared_ptr<distrib::AlignedBuffer>> held;
  std::set<const void*> seen;
  const auto take = [&] {
    auto block = pool.take();
    bool is_free = true;
    for (const auto& other : held) is_free = is_free && other != block;
    REQUIRE(is_free);
    seen.insert(block.get());
    held.push_back(std::move(block));
  };
  while (held.size() < 500) take();
  CHECK(seen.size() == 500);
  for (int i = 0; i < 5000; ++i) {  // in each turn give back one of about half of the blocks, and take another
    std::swap(held[random() % 250], held.back());
    held.pop_back();
    take();
  }
  CHECK(seen.size() < 550);
}

TEST_CASE("BlockPool: blocks of size 0", "[ps]") {
  BlockPool pool{0};
  CHECK(pool.take()->size() == 0);
}

TEST_CASE("BlockPool: many blocks lie in large slabs; they outlive the pool, are zero, and do not overlap", "[ps]") {
  for (const std::size_t size : {4'160U, 100'000U, 3'000'000U}) {
    CAPTURE(size);
    std::vector<std::shared_ptr<distrib::AlignedBuffer>> held;
    {
      BlockPool pool{size};
      for (std::size_t bytes = 0; bytes < (std::size_t{20} << 20); bytes += size) {
        held.push_back(pool.take());
        REQUIRE(held.back()->size() == size);
        const auto at = reinterpret_cast<std::uintptr_t>(held.back()->data());
        REQUIRE(at % distrib::AlignedBuffer::alignment_of(size) == 0);
        for (const std::byte b : held.back()->bytes())
          if (b != std::byte{0}) FAIL("not zero");
        std::ranges::fill(held.back()->bytes(), static_cast<std::byte>(held.size()));
      }
      held.front() = nullptr;
      CHECK(pool.take(size / 2)->size() == size / 2);  // the freed block is used again
      pool.take(2 * size)->data()[2 * size - 1] = std::byte{1};  // a larger block gets memory elsewhere
    }
    for (std::size_t i = 1; i < held.size(); ++i)
      for (const std::byte b : held[i]->bytes())
        if (b != static_cast<std::byte>(i + 1)) FAIL("another block's bytes");
  }
}
