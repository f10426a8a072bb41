// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/cluster_dict.hpp>

#include "support/catch.hpp"

#include <string>
#include <variant>
#include <vector>

using distrib::ClusterSpec;

namespace {

const ClusterSpec mixed =
    ClusterSpec::from_sparse({{"ps", {{0, "a:1"}, {1, "b:1"}}}, {"worker", {{1, "c:1"}, {3, "d:1"}}}});

}  // namespace

TEST_CASE("as_dict: a job without gaps is a list, a job with gaps is a mapping", "[cluster]") {
  const auto jobs = as_dict(mixed);
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].first == "ps");
  CHECK(std::get<std::vector<std::string>>(jobs[0].second) == std::vector<std::string>{"a:1", "b:1"});
  CHECK(std::get<ClusterSpec::Tasks>(jobs[1].second) == ClusterSpec::Tasks{{1, "c:1"}, {3, "d:1"}});
  const auto none = as_dict(ClusterSpec::from_sparse({{"ps", {}}}));
  CHECK(std::get<ClusterSpec::Tasks>(none[0].second).empty());
}

TEST_CASE("cluster_json: writes the cluster as TF_CONFIG does, and it reads back", "[cluster]") {
  CHECK(distrib::detail::cluster_json(mixed) == R"({"ps":["a:1","b:1"],"worker":{"1":"c:1","3":"d:1"}})");
  CHECK(distrib::detail::cluster_json({}) == "{}");
  CHECK(distrib::detail::parse_cluster_json(distrib::detail::cluster_json(mixed)) == mixed);
  CHECK_THROWS_WITH(distrib::detail::parse_cluster_json(R"({"ps": 3})"), ContainsSubstring("cluster at offset 7"));
  CHECK_THROWS(distrib::detail::parse_cluster_json(R"({"ps": ["a:1"]} x)"));
  CHECK_THROWS(distrib::detail::parse_cluster_json("[]"));
}
