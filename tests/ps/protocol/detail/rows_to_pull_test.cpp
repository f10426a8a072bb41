// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/detail/rows_to_pull.hpp>

#include "support/catch.hpp"

#include <memory>

using distrib::AlignedBuffer;
using distrib::SharedBuffer;
using distrib::detail::RowsToPull;

namespace {

auto bytes_block(std::size_t bytes) -> SharedBuffer { return std::make_shared<AlignedBuffer>(bytes); }

auto job_with_table() -> distrib::Job {
  distrib::Job job;
  job.shards_per_task = 2;
  job.tables.emplace_back();
  return job;
}

}  // namespace

TEST_CASE("RowsToPull: a job without tables wants no rows at any step", "[ps]") {
  RowsToPull rows{distrib::Job{}};
  rows.know(3, {{bytes_block(8), 16}});
  CHECK(rows.known_for(1));
  CHECK(rows.of(0).keys == nullptr);
  CHECK(rows.fit(1, 0, bytes_block(64)));
  CHECK(rows.fit(1, 0, nullptr));
}

TEST_CASE("RowsToPull: with tables the rows are known for one step, and determine the size of an answer", "[ps]") {
  RowsToPull rows{job_with_table()};
  CHECK_FALSE(rows.known_for(1));
  const SharedBuffer keys = bytes_block(8);
  rows.know(1, {{nullptr, 64}, {keys, 128}});
  CHECK(rows.known_for(1));
  CHECK_FALSE(rows.known_for(2));
  CHECK(rows.of(1).keys == keys);
  CHECK(rows.fit(1, 1, bytes_block(128)));
  CHECK_FALSE(rows.fit(1, 1, bytes_block(64)));
  CHECK_FALSE(rows.fit(2, 1, bytes_block(128)));
}
