// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/pull_rows.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace distrib;

namespace {

auto layout(FloatFormat format = FloatFormat::float32) -> ShardLayout {
  Job job;
  job.wire_format = format;
  job.tables = {{"user", 16, 0}, {"item", 4, 100}};
  return {job, 0};
}

auto body(const std::vector<std::byte>& bytes) -> SharedBuffer {
  auto block = std::make_shared<AlignedBuffer>(bytes.size());
  std::ranges::copy(bytes, block->bytes().begin());
  return block;
}

}  // namespace

TEST_CASE("read_pull_rows: reads what was written; without a body nothing is asked", "[ps]") {
  const ShardLayout of = layout();
  PullRows rows{{{1}}, true};
  CHECK_FALSE(read_pull_rows(of, nullptr, 0, rows));
  CHECK(rows.keys.empty());
  CHECK_FALSE(rows.digests);

  for (const bool digests : {false, true}) {
    std::vector<std::byte> bytes;
    append_pull_rows({{{7, 1ULL << 63}, {0}}, digests}, bytes);
    const std::size_t size = 128 + 64 + (digests ? 64 : 0);  // the rows of both tables; two digests of 32 bytes
    CHECK_FALSE(read_pull_rows(of, body(bytes), size, rows));
    CHECK(rows.keys == KeyLists{{7, 1ULL << 63}, {0}});
    CHECK(rows.digests == digests);
    CHECK(answer_bytes(of, rows) == size);
    const Error large = read_pull_rows(of, body(bytes), size - 1, rows);
    CHECK(large.code == ps_errc::pull_too_large);
    CHECK(large.where == std::to_string(size) + " bytes, allowed are " + std::to_string(size - 1));

    for (std::size_t length = 0; length < bytes.size(); ++length)
      CHECK(
          read_pull_rows(of, body({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}), 1 << 20, rows)
              .code == ps_errc::unsorted_keys);
    bytes.back() = std::byte{2};
    CHECK(read_pull_rows(of, body(bytes), 1 << 20, rows).code == ps_errc::unsorted_keys);
    bytes.push_back(std::byte{0});
    CHECK(read_pull_rows(of, body(bytes), 1 << 20, rows).code == ps_errc::unsorted_keys);
  }
}

TEST_CASE("answer_bytes: with 16-bit floats rows take half of the bytes, digests the same", "[ps]") {
  const PullRows rows{{std::vector<std::uint64_t>(20, 1), std::vector<std::uint64_t>(8, 1)}, true};
  CHECK(answer_bytes(layout(), rows) == 20 * 64 + 8 * 16 + 64);
  for (const FloatFormat format : {FloatFormat::bfloat16, FloatFormat::float16})
    CHECK(answer_bytes(layout(format), rows) == (20 * 64 + 8 * 16) / 2 + 64);
}
