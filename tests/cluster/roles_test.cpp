// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/roles.hpp>

#include "support/catch.hpp"

using distrib::cluster_errc;
using distrib::ClusterSpec;
using distrib::TaskId;

namespace {
const ClusterSpec workers{{"worker", {"w0:1", "w1:1", "w2:1"}}};
const ClusterSpec full{{"chief", {"c0:1"}}, {"worker", {"w0:1", "w1:1"}}, {"ps", {"p0:1"}}, {"evaluator", {"e0:1"}}};
}  // namespace

TEST_CASE("is_chief, id_in_cluster, worker_count: roles of the tasks", "[cluster]") {
  struct Case {
    const ClusterSpec& cluster;
    TaskId task;
    bool chief;
    std::uint32_t id;
    std::size_t count;
  };
  const Case cases[] = {
      {workers, {"worker", 0}, true, 0, 3},    {workers, {"worker", 1}, false, 1, 3},
      {full, {"chief", 0}, true, 0, 3},        {full, {"worker", 0}, false, 1, 3},
      {full, {"worker", 1}, false, 2, 3},      {full, {"evaluator", 0}, true, 0, 1},
      {workers, {"evaluator", 0}, true, 0, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(to_string(c.task));
    CHECK(is_chief(c.cluster, c.task) == c.chief);
    CHECK(id_in_cluster(c.cluster, c.task) == c.id);
    CHECK(worker_count(c.cluster, c.task.job) == c.count);
  }
}

TEST_CASE("rank_count: counts chief and workers", "[cluster]") {
  CHECK(rank_count(workers) == 3);
  CHECK(rank_count(full) == 3);
  CHECK(rank_count(ClusterSpec{{"chief", {"c0:1"}}, {"ps", {"p0:1", "p1:1"}}}) == 1);
  CHECK(rank_count(ClusterSpec{{"ps", {"p0:1"}}, {"worker", {}}, {"evaluator", {"e0:1"}}}) == 0);
  CHECK(rank_count(ClusterSpec{}) == 0);
}

TEST_CASE("check_role, worker_count: a job with gaps has only the tasks that are listed", "[cluster]") {
  const ClusterSpec sparse = ClusterSpec::from_sparse({{"worker", {{1, "w1:1"}, {4, "w4:1"}}}});
  std::error_code ec;
  for (const std::uint32_t index : {1U, 4U}) {
    check_role(sparse, {"worker", index}, ec);
    CHECK_FALSE(ec);
  }
  check_role(sparse, {"worker", 0}, ec);
  CHECK(ec == cluster_errc::no_such_task);
  CHECK(worker_count(sparse, "worker", ec) == 2);
  CHECK_FALSE(ec);
}

TEST_CASE("is_chief, id_in_cluster, worker_count: a ps is not a worker", "[cluster]") {
  CHECK_FALSE(is_chief(full, {"ps", 0}));
  std::error_code ec;
  CHECK(id_in_cluster(full, {"ps", 0}, ec) == 0);
  CHECK(ec == cluster_errc::bad_role);
  CHECK(worker_count(full, "ps", ec) == 0);
  CHECK(ec == cluster_errc::bad_role);
  CHECK_THROWS_WITH(id_in_cluster(full, {"ps", 0}), ContainsSubstring("/job:ps/task:0"));
  CHECK_THROWS_WITH(worker_count(full, "ps"), ContainsSubstring("ps: no such role"));
}

TEST_CASE("check_role: refuses tasks that have no role in training", "[cluster]") {
  struct Case {
    ClusterSpec cluster;
    TaskId task;
    std::error_code code;
  };
  const Case cases[] = {
      {workers, {"worker", 2}, {}},
      {workers, {"worker", 3}, cluster_errc::no_such_task},
      {workers, {"ps", 0}, cluster_errc::no_such_job},
      {workers, {"evaluator", 5}, {}},  // the evaluator may be outside of the cluster
      {full, {"evaluator", 1}, cluster_errc::no_such_task},
      {workers, {"master", 0}, cluster_errc::bad_role},
      {{{"master", {"a:1"}}, {"worker", {"b:1"}}}, {"worker", 0}, cluster_errc::bad_role},
      {{{"chief", {"a:1", "b:1"}}, {"worker", {"c:1"}}}, {"worker", 0}, cluster_errc::bad_role},
      {{{"evaluator", {"a:1", "b:1"}}, {"worker", {"c:1"}}}, {"worker", 0}, cluster_errc::bad_role},
  };
  for (const Case& c : cases) {
    CAPTURE(to_string(c.cluster), to_string(c.task));
    std::error_code ec;
    check_role(c.cluster, c.task, ec);
    CHECK(ec == c.code);
    CHECK(is_chief(c.cluster, c.task, ec) == (!c.code && c.task.job == "evaluator"));
    CHECK(ec == c.code);
    if (c.code) {
      CHECK_THROWS_WITH(check_role(c.cluster, c.task), ContainsSubstring(to_string(c.task)));
      CHECK_THROWS_WITH(is_chief(c.cluster, c.task), ContainsSubstring(to_string(c.task)));
    }
  }
}
