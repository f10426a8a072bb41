// SPDX-License-Identifier: Apache-2.0
#include <distrib/tf/parameter_server_strategy.hpp>

#include <distrib/sharding/fixed_shards.hpp>

#include "support/catch.hpp"

#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::cluster_errc;
using distrib::ClusterSpec;
using distrib::DType;
using distrib::FixedShardsPartitioner;
using distrib::ParameterServerStrategy;
using distrib::PlacedVariable;
using distrib::Shape;
using distrib::sharding_errc;
using distrib::VariableInfo;

namespace {

auto two_ps() -> ClusterSpec { return {{"ps", {"a:1", "b:1"}}, {"worker", {"c:1"}}, {"chief", {"d:1"}}}; }

auto variable(std::string name, Shape shape) -> VariableInfo {
  return {.name = std::move(name), .dtype = DType::float32, .shape = shape};
}

/// Returns `answer` for variables with 5 rows; does not cut others.
struct Answer {
  distrib::Partition answer;
  auto partition(const Shape& shape, DType) const -> distrib::Partition {
    return shape[0] == 5 ? answer : distrib::Partition{};
  }
};

auto texts(const std::vector<PlacedVariable>& placed) -> std::vector<std::string> {
  std::vector<std::string> list;
  for (const PlacedVariable& one : placed) list.push_back(one.name + " " + to_string(one.slice) + " " + one.device);
  return list;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("ParameterServerStrategy: each variable and each shard uses a turn", "[ps][placement]") {
  ParameterServerStrategy strategy{two_ps(), FixedShardsPartitioner{.num_shards = 3}};
  CHECK(texts(strategy.create(variable("w", {10, 4}))) == Texts{"w/part_0 0,4:0,4 /job:ps/task:0/device:CPU:0",
                                                                "w/part_1 4,3:0,4 /job:ps/task:1/device:CPU:0",
                                                                "w/part_2 7,3:0,4 /job:ps/task:0/device:CPU:0"});
  const auto step = strategy.create(variable("step", {}));  // a scalar is never cut
  CHECK(texts(step) == Texts{"step  /job:ps/task:1/device:CPU:0"});
  const auto slot = strategy.create_colocated(variable("step/slot", {8}), step.front());
  CHECK(texts({slot}) == Texts{"step/slot 0,8 /job:ps/task:1/device:CPU:0"});  // a slot is never cut, and uses no turn
  CHECK(texts(strategy.create(variable("tiny", {1, 4}))) == Texts{"tiny 0,1:0,4 /job:ps/task:0/device:CPU:0"});
}

TEST_CASE("ParameterServerStrategy: without a partitioner no variable is cut", "[ps][placement]") {
  ParameterServerStrategy strategy{two_ps()};
  CHECK(texts(strategy.create(variable("w", {10}))) == Texts{"w 0,10 /job:ps/task:0/device:CPU:0"});
}

TEST_CASE("ParameterServerStrategy: only existing tasks get turns", "[ps][placement]") {
  ParameterServerStrategy strategy{
      ClusterSpec::from_sparse({{"ps", {{1, "a:1"}, {4, "b:1"}}}, {"worker", {{0, "c:1"}}}})};
  CHECK(strategy.create(variable("a", {2})).front().device == "/job:ps/task:1/device:CPU:0");
  CHECK(strategy.create(variable("b", {2})).front().device == "/job:ps/task:4/device:CPU:0");
  CHECK(strategy.create(variable("c", {2})).front().device == "/job:ps/task:1/device:CPU:0");
}

TEST_CASE("ParameterServerStrategy: makes no more shards than rows", "[ps][placement]") {
  ParameterServerStrategy strategy{two_ps(), Answer{{0, 6}}};
  const auto placed = strategy.create(variable("w", {5, 4}));
  REQUIRE(placed.size() == 5);
  CHECK(placed.back().slice.extents == Shape{1, 4});
}

TEST_CASE("ParameterServerStrategy: a cut that it refuses uses no turn", "[ps][placement]") {
  const std::pair<distrib::Partition, sharding_errc> cases[] = {{{1, 2}, sharding_errc::not_axis_0},
                                                                {{0, 0}, sharding_errc::not_positive},
                                                                {{0, -1}, sharding_errc::not_positive}};
  for (const auto& [answer, refused] : cases) {
    ParameterServerStrategy strategy{two_ps(), Answer{answer}};
    std::error_code ec;
    CHECK(strategy.create(variable("w", {5, 4}), ec).empty());
    CHECK(ec == refused);
    CHECK_THROWS_WITH(strategy.create(variable("w", {5, 4})), ContainsSubstring("the parts of variable 'w'"));
    CHECK(strategy.create(variable("v", {2})).front().device == "/job:ps/task:0/device:CPU:0");
  }
}

TEST_CASE("ParameterServerStrategy: clusters that it refuses", "[ps][placement]") {
  using Jobs = std::map<std::string, ClusterSpec::Tasks>;
  const std::pair<Jobs, cluster_errc> cases[] = {
      {{}, cluster_errc::empty_job},
      {{{"worker", {{0, "a:1"}}}, {"chief", {{0, "b:1"}}}}, cluster_errc::empty_job},
      {{{"ps", {{0, "a:1"}}}, {"chief", {{0, "b:1"}}}}, cluster_errc::empty_job},
      {{{"ps", {{0, "a:1"}}}, {"worker", {{0, "b:1"}}}, {"master", {{0, "c:1"}}}}, cluster_errc::bad_role},
      {{{"ps", {{0, "a:1"}}}, {"worker", {{0, "b:1"}}}, {"chief", {{0, "c:1"}, {1, "d:1"}}}}, cluster_errc::bad_role},
  };
  for (const auto& [jobs, refused] : cases) {
    const ClusterSpec cluster = ClusterSpec::from_sparse(jobs);
    CAPTURE(to_string(cluster));
    std::error_code ec;
    ParameterServerStrategy strategy{cluster, FixedShardsPartitioner{}, ec};
    CHECK(ec == refused);
    CHECK(strategy.create(variable("v", {2}), ec).empty());
    CHECK(ec == cluster_errc::empty_job);
    CHECK_THROWS_AS(ParameterServerStrategy{cluster}, std::system_error);
  }
  CHECK_NOTHROW(distrib::detail::check_parameter_server_cluster(two_ps()));
}

TEST_CASE("parameter_server_device_filters: workers do not see each other", "[ps][placement]") {
  CHECK(distrib::detail::parameter_server_device_filters("worker") == Texts{"/job:ps", "/job:chief"});
  CHECK(distrib::detail::parameter_server_device_filters("ps") == Texts{"/job:worker", "/job:chief"});
  CHECK(distrib::detail::parameter_server_device_filters("chief").empty());
}
