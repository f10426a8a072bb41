// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/pull_keys.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <memory>
#include <vector>

using namespace distrib;

namespace {

auto layout() -> ShardLayout {
  Job job;
  job.tables = {{"user", 16, 0}, {"item", 4, 100}};
  return {job, 0};
}

auto body(const std::vector<std::byte>& bytes) -> SharedBuffer {
  auto block = std::make_shared<AlignedBuffer>(bytes.size());
  std::ranges::copy(bytes, block->bytes().begin());
  return block;
}

}  // namespace

TEST_CASE("read_pull_keys: lists of all tables, or none", "[ps]") {
  const ShardLayout of = layout();
  KeyLists keys{{1}};
  CHECK_FALSE(read_pull_keys(of, nullptr, 0, keys));
  CHECK(keys.empty());

  std::vector<std::byte> bytes;
  append_keys(std::vector<std::uint64_t>{7, 1ULL << 63}, bytes);
  append_keys(std::vector<std::uint64_t>{0}, bytes);
  CHECK_FALSE(read_pull_keys(of, body(bytes), 128 + 64, keys));
  CHECK(keys == KeyLists{{7, 1ULL << 63}, {0}});
  const Error large = read_pull_keys(of, body(bytes), 128 + 63, keys);
  CHECK(large.code == ps_errc::pull_too_large);
  CHECK(large.where == "192 bytes of 191");

  bytes.push_back(std::byte{0});
  CHECK(read_pull_keys(of, body(bytes), 1 << 20, keys).code == ps_errc::unsorted_keys);
  CHECK(read_pull_keys(of, body({}), 1 << 20, keys).code == ps_errc::unsorted_keys);
}
