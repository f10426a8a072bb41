// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/master_url.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::master_url;
using distrib::TaskId;

TEST_CASE("master_url: the address of a known task", "[cluster]") {
  const distrib::ClusterSpec cluster{{"ps", {"p:1"}}, {"worker", {"a:1", "b:1"}}};
  CHECK(master_url(cluster, TaskId{"worker", 1}, "grpc") == "grpc://b:1");
  CHECK(master_url(cluster, TaskId{"worker", 1}, "") == "b:1");
  CHECK(master_url(cluster, std::nullopt, "grpc").empty());
  std::error_code ec;
  CHECK(master_url(cluster, TaskId{"worker", 2}, "grpc", ec).empty());
  CHECK(ec == cluster_errc::no_such_task);
  CHECK(master_url(cluster, std::nullopt, "grpc", ec).empty());
  CHECK_FALSE(ec);
  CHECK_THROWS_WITH(master_url(cluster, TaskId{"chief", 0}, ""), ContainsSubstring("/job:chief/task:0: no such job"));
}
