// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/task_roles.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <optional>

namespace {

using distrib::ByteView;
using distrib::hadoop::KeyValue;
using distrib::hadoop::TaskContext;
using distrib::hadoop::Values;

/// The smallest type for each role: no default constructor, no copy, no assignment.
struct LeastRole {
  explicit LeastRole(int) {}
  LeastRole(LeastRole&&) = default;
  auto operator=(LeastRole&&) -> LeastRole& = delete;
};
struct LeastMapper : LeastRole {
  using LeastRole::LeastRole;
  void map(ByteView, ByteView, TaskContext&) {}
};
struct LeastReducer : LeastRole {
  using LeastRole::LeastRole;
  void reduce(ByteView, Values&, TaskContext&) {}
};
struct LeastCombiner : LeastRole {
  using LeastRole::LeastRole;
  void combine(ByteView, Values&, TaskContext&) {}
};
struct LeastTaskPartitioner : LeastRole {
  using LeastRole::LeastRole;
  auto partition(ByteView, std::uint32_t) -> std::uint16_t { return 0; }
};
struct LeastReader : LeastRole {
  using LeastRole::LeastRole;
  void open(ByteView, TaskContext&) {}
  auto next() -> std::optional<KeyValue> { return {}; }
  auto progress() -> double { return 0; }
};
struct LeastWriter : LeastRole {
  using LeastRole::LeastRole;
  void open(TaskContext&) {}
  void write(ByteView, ByteView) {}
  void close() {}
};

struct NoValues {
  void reduce(ByteView, ByteView, TaskContext&) {}
};
struct NoNumber {
  void partition(ByteView, std::uint32_t) {}
};
struct NoProgress {
  void open(ByteView, TaskContext&) {}
  auto next() -> std::optional<KeyValue> { return {}; }
};
struct NoClose {
  void open(TaskContext&) {}
  void write(ByteView, ByteView) {}
};

}  // namespace

TEST_CASE("Roles of a task: accept the smallest models, refuse types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::hadoop::Mapper<LeastMapper>);
  STATIC_REQUIRE(distrib::hadoop::Reducer<LeastReducer>);
  STATIC_REQUIRE(distrib::hadoop::Combiner<LeastCombiner>);
  STATIC_REQUIRE(distrib::hadoop::Partitioner<LeastTaskPartitioner>);
  STATIC_REQUIRE(distrib::hadoop::RecordReader<LeastReader>);
  STATIC_REQUIRE(distrib::hadoop::RecordWriter<LeastWriter>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::detail::TaskRole<LeastRole>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::Reducer<LeastCombiner>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::Combiner<LeastReducer>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::Reducer<NoValues>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::Partitioner<NoNumber>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::RecordReader<NoProgress>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::RecordWriter<NoClose>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::RecordReader<LeastWriter>);
  STATIC_REQUIRE_FALSE(distrib::hadoop::RecordWriter<LeastReader>);
}
