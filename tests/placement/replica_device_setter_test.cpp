// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/replica_device_setter.hpp>

#include <distrib/placement/function.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/random.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/part_slices.hpp>

#include "support/catch.hpp"

#include <map>
#include <string>
#include <vector>

using distrib::ClusterSpec;
using distrib::DType;
using distrib::OpRequest;
using distrib::replica_device_setter;
using distrib::ReplicaDeviceSetterOptions;
using distrib::Shape;
using Strings = std::vector<std::string>;

namespace {

const ClusterSpec cluster{{"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"worker0:2222", "worker1:2222"}}};
const ClusterSpec three_ps{{"ps", {"ps0:2222", "ps1:2222", "ps2:2222"}}, {"worker", {"worker0:2222"}}};

struct Op {
  std::string type;
  std::string device;
};

struct Case {
  std::string what;
  ReplicaDeviceSetterOptions options;
  std::vector<Op> ops;
  Strings devices;
};

}  // namespace

TEST_CASE("replica_device_setter: the device of each operation", "[placement]") {
  const Case cases[] = {
      {"variables in turn, the rest on the worker",
       {.cluster = cluster},
       {{"VariableV2", ""}, {"VariableV2", ""}, {"Add", ""}, {"VariableV2", ""}},
       {"/job:ps/task:0", "/job:ps/task:1", "/job:worker", "/job:ps/task:0"}},
      {"a ps device without a job gets no task",
       {.ps_tasks = 1, .ps_device = "/cpu:0"},
       {{"VariableV2", ""}, {"VariableV2", "/job:moon"}, {"Add", ""}},
       {"/device:CPU:0", "/job:moon/device:CPU:0", "/job:worker"}},
      {"without merging, what has a device keeps it",
       {.merge_devices = false, .cluster = cluster},
       {{"VariableV2", ""}, {"VariableV2", "/job:ps"}, {"Add", ""}, {"Add", "/cpu:0"}},
       {"/job:ps/task:0", "/job:ps", "/job:worker", "/cpu:0"}},
      {"other job names",
       {.ps_device = "/job:moon",
        .worker_device = "/job:sun",
        .cluster = ClusterSpec{{"sun", {"sun0:2222", "sun1:2222"}}, {"moon", {"moon0:2222", "moon1:2222"}}}},
       {{"VariableV2", ""}, {"VariableV2", ""}, {"Add", ""}},
       {"/job:moon/task:0", "/job:moon/task:1", "/job:sun"}},
      {"a worker with a task, and an inner scope",
       {.worker_device = "/job:worker/task:3", .cluster = three_ps},
       {{"MatMul", "/device:GPU:0"}, {"Variable", ""}, {"MatMul", ""}},
       {"/job:worker/task:3/device:GPU:0", "/job:ps/task:0", "/job:worker/task:3"}},
      {"one's own ps task wins, but the turn is used up",
       {.cluster = three_ps},
       {{"Variable", ""}, {"Variable", "/job:ps/task:0"}, {"Variable", ""}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:ps/task:0", "/job:ps/task:2", "/job:ps/task:0"}},
      {"another job takes no turn",
       {.cluster = cluster},
       {{"Variable", ""}, {"Variable", "/job:worker/task:1"}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:worker/task:1", "/job:ps/task:1"}},
      {"other types as variables",
       {.cluster = cluster, .ps_ops = Strings{"MyTable"}},
       {{"Variable", ""}, {"MyTable", ""}, {"VarHandleOp", ""}, {"MyTable", ""}},
       {"/job:worker", "/job:ps/task:0", "/job:worker", "/job:ps/task:1"}},
      {"read-only tables stay on the worker",
       {.cluster = cluster},
       {{"HashTableV2", ""}, {"MutableHashTableV2", ""}},
       {"/job:worker", "/job:ps/task:0"}},
      {"the number of tasks is that of the cluster",
       {.ps_tasks = 7, .cluster = cluster},
       {{"Variable", ""}, {"Variable", ""}, {"Variable", ""}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:1"}},
      {"a number of tasks without a cluster",
       {.ps_tasks = 3},
       {{"Variable", ""}, {"Variable", ""}, {"Variable", ""}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:2", "/job:ps/task:0"}},
      {"no ps device: all stays on the worker",
       {.ps_tasks = 2, .ps_device = ""},
       {{"Variable", ""}, {"Add", "/cpu:0"}},
       {"/job:worker", "/job:worker/device:CPU:0"}},
      {"no worker device: one's own",
       {.ps_tasks = 2, .worker_device = ""},
       {{"Add", "/cpu:0"}, {"Variable", ""}},
       {"/device:CPU:0", "/job:ps/task:0"}},
      {"parameter servers with a processor",
       {.ps_tasks = 2, .ps_device = "/job:ps/device:CPU:0"},
       {{"VarHandleOp", ""}, {"VarHandleOp", ""}},
       {"/job:ps/task:0/device:CPU:0", "/job:ps/task:1/device:CPU:0"}},
      {"in a ps job with gaps, the tasks that there are",
       {.cluster = ClusterSpec::from_sparse({{"ps", {{0, "a:1"}, {3, "b:1"}}}})},
       {{"Variable", ""}, {"Variable", ""}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:ps/task:3", "/job:ps/task:0"}},
      {"in a ps job with gaps, TensorFlow's choice, which may not exist",
       {.cluster = ClusterSpec::from_sparse({{"ps", {{0, "a:1"}, {3, "b:1"}}}}), .tasks_by_position = true},
       {{"Variable", ""}, {"Variable", ""}, {"Variable", ""}},
       {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    auto setter = replica_device_setter(c.options);
    CHECK(setter);
    Strings devices;
    for (const Op& op : c.ops) devices.push_back(setter({.op = op.type, .device = op.device}));
    CHECK(devices == c.devices);
  }
}

TEST_CASE("replica_device_setter: without a ps task it places nothing", "[placement]") {
  const ReplicaDeviceSetterOptions options[] = {
      {},
      {.cluster = ClusterSpec{{"worker", {"w0:1"}}}},
      {.cluster = ClusterSpec{{"ps", {}}, {"worker", {"w0:1"}}}},
      {.ps_tasks = 2, .ps_device = "/cpu:0", .cluster = cluster},
      {.cluster = ClusterSpec{}},
  };
  for (const auto& option : options) {
    auto setter = replica_device_setter(option);
    CHECK_FALSE(setter);
    CHECK(setter({.op = "Variable"}).empty());
    CHECK(setter({.op = "Add", .device = "/cpu:0"}) == "/cpu:0");
  }
}

TEST_CASE("replica_device_setter: with a strategy", "[placement]") {
  auto device = replica_device_setter({.worker_device = "/job:worker/task:1", .cluster = cluster},
                                      distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load});
  CHECK(device({.name = "large", .shape = {784, 128}}) == "/job:ps/task:0");
  CHECK(device({.name = "small", .shape = {128}}) == "/job:ps/task:1");
  CHECK(device({.name = "small_too", .dtype = DType::float64, .shape = {10}}) == "/job:ps/task:1");
  CHECK(device({.op = "MatMul"}) == "/job:worker/task:1");
  CHECK(device.strategy().loads()[1] == 592);
}

TEST_CASE("replica_device_setter: each part of a variable gets the next task", "[placement]") {
  struct Variable {
    std::string name;
    Shape shape;
  };
  const Variable variables[] = {{"w", {10, 4}}, {"b", {4}}, {"step", {}}, {"tiny", {1, 4}}};
  auto device = replica_device_setter({.ps_tasks = 2, .ps_device = "/job:ps/device:CPU:0"});
  Strings placed;
  for (const Variable& variable : variables) {
    const auto slices = distrib::part_slices(variable.shape, DType::float32, distrib::FixedShardsPartitioner{3});
    for (std::size_t part = 0; part < slices.size(); ++part) {
      const std::string name = slices.size() == 1 ? variable.name : distrib::part_name(variable.name, part);
      const Shape& shape = slices[part].extents;
      placed.push_back(name + " " + to_string(shape) + " " + device({.name = name, .shape = shape}));
    }
  }
  CHECK(placed == Strings{"w/part_0 [4,4] /job:ps/task:0/device:CPU:0", "w/part_1 [3,4] /job:ps/task:1/device:CPU:0",
                          "w/part_2 [3,4] /job:ps/task:0/device:CPU:0", "b/part_0 [2] /job:ps/task:1/device:CPU:0",
                          "b/part_1 [1] /job:ps/task:0/device:CPU:0", "b/part_2 [1] /job:ps/task:1/device:CPU:0",
                          "step [] /job:ps/task:0/device:CPU:0", "tiny [1,4] /job:ps/task:1/device:CPU:0"});
}

TEST_CASE("replica_device_setter: refuses texts that are no device", "[placement]") {
  CHECK_THROWS_WITH(replica_device_setter({.ps_tasks = 1, .ps_device = "/jab:ps"}), ContainsSubstring("/jab:ps"));
  CHECK_THROWS_WITH(replica_device_setter({.worker_device = "/task:x"}), ContainsSubstring("/task:x"));
  auto setter = replica_device_setter({.ps_tasks = 1});
  std::error_code ec;
  CHECK(setter({.op = "Add", .device = "/nope"}, ec).empty());
  CHECK(ec == distrib::cluster_errc::bad_device);
  CHECK_THROWS_WITH(setter({.op = "Add", .device = "/nope"}), ContainsSubstring("'/nope': not a device"));
  CHECK(setter({.op = "Add", .device = "/cpu:0"}, ec) == "/job:worker/device:CPU:0");
  CHECK_FALSE(ec);
}

TEST_CASE("replica_device_setter: refuses a strategy's result that is no task", "[placement]") {
  for (const bool with_cluster : {true, false}) {
    ReplicaDeviceSetterOptions options{.ps_tasks = 2};
    if (with_cluster) options.cluster = cluster;
    auto setter = replica_device_setter(
        options, distrib::FunctionStrategy{[](const distrib::PlacementRequest& request, std::uint32_t) {
          return request.name == "lost" ? 2 : 1;
        }});
    CHECK(setter({.name = "found"}) == "/job:ps/task:1");
    std::error_code ec;
    CHECK(setter({.name = "lost"}, ec).empty());
    CHECK(ec == distrib::placement_errc::no_such_task);
    CHECK_THROWS_WITH(setter({.name = "lost"}), ContainsSubstring("lost: the strategy returned"));
  }
}

TEST_CASE("ReplicaDeviceSetter: place returns what its strategy returns", "[placement]") {
  auto device = distrib::replica_device_setter({.ps_tasks = 3});
  static_assert(distrib::PlacementStrategy<decltype(device)>);
  for (std::uint32_t i = 0; i < 6; ++i) CHECK(device.place({"v", distrib::DType::float32, {4}}, 3) == i % 3);
}

TEST_CASE("replica_device_setter: every worker gets the same ps tasks, and its own worker device", "[placement]") {
  const ClusterSpec jobs{{"ps", {"a:1", "b:1", "c:1"}}, {"worker", {"d:1", "e:1"}}};
  const auto build = [&](const std::string& worker, auto strategy, const Strings& variables) {
    auto setter = replica_device_setter({.worker_device = worker, .cluster = jobs}, strategy);
    CHECK(setter({.op = "MatMul"}) == worker);
    std::map<std::string, std::string> devices;
    for (const std::string& name : variables) devices[name] = setter({.name = name, .shape = {4}});
    return devices;
  };
  const Strings order{"w", "b", "embedding"};
  const Strings another{"b", "w", "embedding"};
  const distrib::RoundRobinStrategy in_turn;
  CHECK(build("/job:worker/task:0", in_turn, order) == build("/job:worker/task:1", in_turn, order));
  // The setter cannot detect another order. With a strategy by name the order does not matter.
  CHECK(build("/job:worker/task:0", in_turn, order) != build("/job:worker/task:1", in_turn, another));
  const distrib::RandomStrategy by_name;
  CHECK(build("/job:worker/task:0", by_name, order) == build("/job:worker/task:1", by_name, another));
}

TEST_CASE("replica_device_setter: with a ps device without a job, a cluster places nothing", "[placement]") {
  const ClusterSpec unnamed{{"", {"a:1"}}, {"ps", {"b:1"}}};
  CHECK_FALSE(replica_device_setter({.ps_device = "/cpu:0", .cluster = unnamed}));
  CHECK_FALSE(replica_device_setter({.ps_device = "", .cluster = unnamed}));
}
