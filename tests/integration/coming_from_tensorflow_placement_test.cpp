// SPDX-License-Identifier: Apache-2.0
// The code about devices, placement, sharding and lookups in docs/coming-from-tensorflow.md.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/cluster/device_change.hpp>
#include <distrib/cluster/device_name.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/placement/device_scopes.hpp>
#include <distrib/placement/function.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/random.hpp>
#include <distrib/placement/replica_device_setter.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/rows/clip_rows.hpp>
#include <distrib/ps/rows/embedding_lookup_sparse.hpp>
#include <distrib/ps/rows/safe_embedding_lookup_sparse.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/max_size.hpp>
#include <distrib/sharding/min_size.hpp>
#include <distrib/sharding/mod_sharding.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/sharded_values.hpp>
#include <distrib/tf/parameter_server_strategy.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

using Floats = std::vector<float>;

namespace {

const distrib::ClusterSpec cluster{{"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"w0:2222", "w1:2222"}}};

}  // namespace

TEST_CASE("Coming from TensorFlow: P015 to P017 devices", "[integration]") {
  const auto spec = distrib::DeviceSpec::parse("/job:ps/task:1/device:GPU:0");
  CHECK(to_string(spec) == "/job:ps/task:1/device:GPU:0");
  const auto other = distrib::DeviceSpec::parse("/job:worker/replica:2");
  CHECK(to_string(spec.merged_with(other)) == "/job:worker/replica:2/task:1/device:GPU:0");
  CHECK(to_string(replaced(spec, {.replica = std::nullopt, .task = 3})) == "/job:ps/task:3/device:GPU:0");

  const auto p = distrib::parse_device_name("/job:ps/replica:0/task:0/device:GPU:1");
  const auto q = distrib::parse_device_name("/job:ps/device:CPU:0");
  CHECK_NOTHROW(distrib::merge_device_names(p, q, distrib::DeviceConflict::soften));
}

TEST_CASE("Coming from TensorFlow: P018 scopes, P019 replica_device_setter, P024 in every worker", "[integration]") {
  distrib::DeviceScopes scopes;
  {
    const auto scope = scopes.enter("/job:worker");
    CHECK(scopes.device({.op = "MatMul"}) == "/job:worker");
  }
  auto setter = distrib::replica_device_setter({.worker_device = "/job:worker/task:1", .cluster = cluster});
  const auto scope = scopes.enter([&](const distrib::OpRequest& op) { return setter(op); });
  CHECK(scopes.device({.op = "VarHandleOp", .name = "w"}) == "/job:ps/task:0");
  CHECK(scopes.device({.op = "VarHandleOp", .name = "b"}) == "/job:ps/task:1");
  CHECK(scopes.device({.op = "MatMul"}) == "/job:worker/task:1");
}

TEST_CASE("Coming from TensorFlow: P020 to P023 strategies", "[integration]") {
  const distrib::PlacementRequest large{.name = "large", .dtype = distrib::DType::float32, .shape = {100}};
  const distrib::PlacementRequest small{.name = "small", .dtype = distrib::DType::float32, .shape = {10}};
  auto round_robin = distrib::RoundRobinStrategy{};
  CHECK(round_robin.place(large, 2) == 0);
  CHECK(round_robin.place(small, 2) == 1);
  auto greedy = distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load};
  CHECK(greedy.place(large, 2) == 0);
  CHECK(greedy.place(small, 2) == 1);
  CHECK(greedy.place(small, 2) == 1);
  auto random = distrib::RandomStrategy{.seed = 42};
  CHECK(random.place(large, 2) < 2);
  auto setter = distrib::replica_device_setter(
      {.ps_tasks = 2}, distrib::FunctionStrategy{[](const distrib::PlacementRequest&, std::uint32_t) { return 1; }});
  CHECK(setter({.op = "VarHandleOp", .name = "w"}) == "/job:ps/task:1");
}

TEST_CASE("Coming from TensorFlow: P025 to P029 partitioners and parts", "[integration]") {
  const distrib::Shape shape{10, 4};
  const auto parts = [&](const auto& partitioner) {
    return partitioner.partition(shape, distrib::DType::float32).parts;
  };
  CHECK(parts(distrib::FixedShardsPartitioner{.num_shards = 3, .axis = 0}) == 3);
  CHECK(parts(distrib::MaxSizePartitioner{.max_shard_bytes = 64, .max_shards = 4}) == 3);
  CHECK(parts(distrib::MinSizePartitioner{.max_shards = 4}) == 1);
  CHECK(distrib::part_text(shape, distrib::part_slices(shape, {.axis = 0, .parts = 3})[1]) == "10 4 4,3:0,4");
  CHECK(distrib::part_name("emb", 1) == "emb/part_1");
}

TEST_CASE("Coming from TensorFlow: P030 to P033 lookups", "[integration]") {
  const std::vector<std::int64_t> ids{0, 5};
  std::vector<distrib::ShardRow> places(2);
  const std::int64_t rows = 6;
  const std::uint32_t shards = 2;
  distrib::locate_rows(distrib::ModSharding{rows, shards}, ids, places);
  CHECK(places[1].shard == 1);
  distrib::locate_rows(distrib::RangeSharding{rows, shards}, ids, places);
  CHECK(places[1].row == 2);
  Floats values{3, 4};
  const std::size_t row_size = 2;
  distrib::clip_rows(values, row_size, 1.0F);
  CHECK(values[0] == Approx(0.6F));

  const Floats table{0, 1, 10, 11, 20, 21};
  const std::vector<std::int64_t> keys{1, 2};
  const std::vector<std::int64_t> row_splits{0, 2};
  const Floats weights{2, 0.5F};
  Floats out(2);
  distrib::embedding_lookup_sparse(table, row_size, distrib::SparseIds{keys, row_splits, weights},
                                   {.combiner = distrib::Combiner::sum}, out);
  CHECK(out == Floats{30, 32.5F});
  const std::vector<std::int64_t> unsafe{1, -1};
  const std::vector<std::int64_t> empty_rows{0, 2, 2};
  Floats safe(4);
  distrib::safe_embedding_lookup_sparse(table, row_size, distrib::SparseIds{unsafe, empty_rows}, {}, 0, safe);
  CHECK(safe == Floats{10, 11, 0, 1});
}

TEST_CASE("Coming from TensorFlow: P034 to P036 sharded variables", "[integration]") {
  const distrib::Shape shape{6, 1};
  const support::TempDirectory directory;
  const auto cut = [&](std::int64_t parts) {
    return distrib::ShardedValues<float>{distrib::ShardedVariable{shape, distrib::DType::float32, {0, parts}}};
  };
  auto values = cut(3);
  values.assign(Floats{0, 1, 2, 3, 4, 5});
  CHECK(values.row(-1)[0] == 5);
  CHECK(values.rows({.start = 2, .stop = 6, .step = 3}) == Floats{2, 5});
  values.assign(Floats{1, 1, 1, 1, 1, 1}, distrib::RowUpdate::add);
  const std::vector<std::int64_t> ids{4, 0};
  values.scatter(distrib::RowUpdate::add, ids, Floats{10, 20});
  CHECK(values.sparse_read(ids) == Floats{15, 21});

  std::vector<distrib::BundlePart> parts(3);
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    parts[shard].tensors.push_back({.name = "emb",
                                    .dtype = distrib::DType::float32,
                                    .shape = shape,
                                    .slice = values.slice_of(shard),
                                    .bytes = std::as_bytes(values.shard(shard))});
  const std::string prefix = directory / "model.ckpt-1";
  distrib::perform(distrib::plan_bundle(prefix, parts));
  const auto reader = distrib::BundleReader::open(prefix);
  auto other = cut(2);
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    reader.read("emb", other.slice_of(shard), std::as_writable_bytes(other.shard(shard)));
  CHECK(other.values() == values.values());
}

TEST_CASE("Coming from TensorFlow: P037 TensorFlow 2's strategy", "[integration]") {
  distrib::ParameterServerStrategy strategy{cluster, distrib::FixedShardsPartitioner{.num_shards = 3}};
  const auto placed = strategy.create({.name = "w", .shape = {10, 4}});
  REQUIRE(placed.size() == 3);
  CHECK(placed[1].device == "/job:ps/task:1/device:CPU:0");
}
