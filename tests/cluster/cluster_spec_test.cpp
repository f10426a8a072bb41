// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/cluster_spec.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::ClusterSpec;
using Strings = std::vector<std::string>;
using Indices = std::vector<std::uint32_t>;

namespace {

/// Two ps, three workers, and a job with a gap.
auto example() -> ClusterSpec {
  ClusterSpec cluster{{"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"worker0:2222", "worker1:2222", "worker2:2222"}}};
  cluster.add("sparse", {{0, "sparse0:2222"}, {3, "sparse3:2222"}});
  return cluster;
}

}  // namespace

TEST_CASE("ClusterSpec: queries on jobs with and without gaps", "[cluster]") {
  const ClusterSpec cluster = example();
  CHECK(cluster.jobs() == Strings{"ps", "worker", "sparse"});
  CHECK(cluster.contains("ps"));
  CHECK_FALSE(cluster.contains("chief"));
  CHECK(cluster.find("chief") == nullptr);
  CHECK(cluster.find("sparse")->at(3) == "sparse3:2222");

  CHECK(cluster.num_tasks("ps") == 2);
  CHECK(cluster.num_tasks("worker") == 3);
  CHECK(cluster.num_tasks("sparse") == 2);
  CHECK(cluster.task_indices("worker") == Indices{0, 1, 2});
  CHECK(cluster.task_indices("sparse") == Indices{0, 3});
  CHECK(cluster.task_address("ps", 0) == "ps0:2222");
  CHECK(cluster.task_address("sparse", 3) == "sparse3:2222");
  using Tasks = std::vector<std::optional<std::string>>;
  CHECK(cluster.job_tasks("ps") == Tasks{"ps0:2222", "ps1:2222"});
  CHECK(cluster.job_tasks("sparse") == Tasks{"sparse0:2222", {}, {}, "sparse3:2222"});
  CHECK(ClusterSpec::from_sparse({{"worker", {{1, "w1:2222"}}}}).job_tasks("worker") == Tasks{{}, "w1:2222"});
}

TEST_CASE("ClusterSpec: errors for unknown jobs and tasks", "[cluster]") {
  const ClusterSpec cluster = example();
  std::error_code ec;
  CHECK(cluster.num_tasks("unknown", ec) == 0);
  CHECK(ec == cluster_errc::no_such_job);
  CHECK(cluster.task_indices("unknown", ec).empty());
  CHECK(ec == cluster_errc::no_such_job);
  CHECK(cluster.task_address("unknown", 0, ec).empty());
  CHECK(ec == cluster_errc::no_such_job);
  CHECK(cluster.job_tasks("unknown", ec).empty());
  CHECK(ec == cluster_errc::no_such_job);
  CHECK(cluster.task_address("sparse", 2, ec).empty());
  CHECK(ec == cluster_errc::no_such_task);
  CHECK(cluster.num_tasks("ps", ec) == 2);
  CHECK_FALSE(ec);

  CHECK_THROWS_WITH(cluster.num_tasks("unknown"), ContainsSubstring("unknown: no such job"));
  CHECK_THROWS_WITH(cluster.task_indices("unknown"), ContainsSubstring("unknown: no such job"));
  CHECK_THROWS_WITH(cluster.job_tasks("unknown"), ContainsSubstring("unknown: no such job"));
  CHECK_THROWS_WITH(cluster.task_address("ps", 2), ContainsSubstring("/job:ps/task:2: no task with this index"));
}

TEST_CASE("ClusterSpec: empty clusters, empty jobs, duplicate and too sparse jobs", "[cluster]") {
  CHECK_FALSE(ClusterSpec{});
  CHECK(ClusterSpec{{"job", {"host:port"}}});
  const ClusterSpec empty_job{{"worker", {}}};
  CHECK(empty_job);
  CHECK(empty_job.jobs() == Strings{"worker"});
  CHECK(empty_job.num_tasks("worker") == 0);
  std::error_code ec;
  CHECK(empty_job.job_tasks("worker", ec).empty());
  CHECK(ec == cluster_errc::empty_job);

  CHECK(ClusterSpec::from_sparse({{"w", {{4000000000, "far"}}}}).job_tasks("w", ec).empty());
  CHECK(ec == cluster_errc::sparse_job);
  CHECK_THROWS_WITH((ClusterSpec{{"ps", {"a:1"}}, {"ps", {"b:1"}}}),
                    ContainsSubstring("ps: the cluster has this job name twice"));
}

TEST_CASE("ClusterSpec: equal if jobs, indices and addresses are equal", "[cluster]") {
  CHECK(ClusterSpec::from_sparse({{"job", {{0, "host:2222"}}}}) == ClusterSpec{{"job", {"host:2222"}}});
  CHECK(ClusterSpec{{"ps", {"a:1"}}, {"worker", {"b:1"}}} == ClusterSpec{{"worker", {"b:1"}}, {"ps", {"a:1"}}});
  CHECK_FALSE(ClusterSpec{{"ps", {"a:1", "b:1"}}} == ClusterSpec{{"ps", {"b:1", "a:1"}}});
  CHECK_FALSE(ClusterSpec{} == ClusterSpec{{"ps", {}}});
}

TEST_CASE("ClusterSpec: its text contains the addresses unchanged", "[cluster]") {
  CHECK(to_string(ClusterSpec{{"worker", {"worker0:3333", "worker1:4444"}}, {"ps", {"ps0:1111"}}}) ==
        "ClusterSpec({'ps': ['ps0:1111'], 'worker': ['worker0:3333', 'worker1:4444']})");
  CHECK(to_string(ClusterSpec::from_sparse({{"ps", {{2, "p2:1"}, {0, "p0:1"}}}})) ==
        "ClusterSpec({'ps': {0: 'p0:1', 2: 'p2:1'}})");
  CHECK(to_string(ClusterSpec{{"worker", {}}}) == "ClusterSpec({'worker': {}})");
  CHECK(to_string(ClusterSpec{{"worker", {"", "not a host port"}}}) ==
        "ClusterSpec({'worker': ['', 'not a host port']})");
  CHECK(to_string(ClusterSpec{}) == "ClusterSpec({})");
}
