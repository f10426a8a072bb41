// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/run_config.hpp>

#include "support/catch.hpp"

#include <string>
#include <system_error>
#include <vector>

using distrib::cluster_errc;
using distrib::run_config;
using Texts = std::vector<std::string>;

namespace {

const std::string whole = R"("cluster": {"chief": ["c:1"], "ps": ["p:1", "p:2"], "worker": ["w:1", "w:2"]})";

auto config(const std::string& cluster, const std::string& task, const std::string& more = "") {
  std::string text = cluster;
  if (!task.empty()) text += (text.empty() ? "" : ", ") + ("\"task\": " + task);
  if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
  return distrib::parse_tf_config("{" + text + "}");
}

auto failure_of(const std::string& cluster, const std::string& task) -> std::error_code {
  std::error_code ec;
  (void)run_config(config(cluster, task), ec);
  return ec;
}

}  // namespace

TEST_CASE("run_config: a worker, a ps and the chief of a cluster", "[cluster]") {
  const auto worker = run_config(config(whole, R"({"type": "worker", "index": 1})"));
  CHECK(worker.master == "grpc://w:2");
  CHECK_FALSE(worker.is_chief);
  CHECK(worker.num_ps_replicas == 2);
  CHECK(worker.num_worker_replicas == 3);
  CHECK(worker.global_id_in_cluster == 2U);  // chief, worker 0, worker 1
  CHECK(worker.device_filters == Texts{"/job:ps", "/job:worker/task:1"});
  const auto ps = run_config(config(whole, R"({"type": "ps", "index": 0})"));
  CHECK(ps.global_id_in_cluster == 3U);
  CHECK(ps.device_filters == Texts{"/job:ps", "/job:worker", "/job:chief", "/job:master"});
  const auto chief = run_config(config(whole, R"({"type": "chief", "index": 0})", R"("session_master": "grpc://x")"));
  CHECK(chief.is_chief);
  CHECK(chief.master == "grpc://x");
  CHECK(chief.global_id_in_cluster == 0U);
  CHECK(chief.device_filters == Texts{"/job:ps", "/job:chief"});
}

TEST_CASE("run_config: an evaluator is outside of the cluster", "[cluster]") {
  const auto evaluator = run_config(config(whole, R"({"type": "evaluator", "index": 0})",
                                           R"("eval_session_master": "grpc://e", "service": {"key": 1})"));
  CHECK_FALSE(evaluator.cluster);
  CHECK(evaluator.master.empty());
  CHECK(evaluator.evaluation_master == "grpc://e");
  CHECK(evaluator.num_worker_replicas == 0);
  CHECK_FALSE(evaluator.global_id_in_cluster);
  CHECK(evaluator.service == R"({"key": 1})");
}

TEST_CASE("run_config: one process, and a cluster of one", "[cluster]") {
  const auto alone = run_config({});
  CHECK(alone.task_type == "worker");
  CHECK(alone.is_chief);
  CHECK(alone.num_worker_replicas == 1);
  CHECK(alone.master.empty());
  const auto one = run_config(config(R"("cluster": {"chief": ["h:1"]})", R"({"type": "chief", "index": 0})"));
  CHECK(one.master.empty());
  CHECK(one.is_chief);
}

TEST_CASE("run_config: a chief with its former name, master", "[cluster]") {
  const std::string old = R"("cluster": {"master": ["m:1"], "worker": ["w:1"]})";
  const auto master = run_config(config(old, R"({"type": "master", "index": 0})"));
  CHECK(master.is_chief);
  CHECK(master.num_worker_replicas == 2);
  CHECK(failure_of(old, R"({"type": "evaluator", "index": 0})") == cluster_errc::bad_role);
  CHECK(failure_of(R"("cluster": {"master": ["m:1"], "chief": ["c:1"]})", R"({"type": "master", "index": 0})") ==
        cluster_errc::bad_role);
}

TEST_CASE("run_config: refuses what an estimator refuses", "[cluster]") {
  CHECK(failure_of(R"("cluster": {"ps": ["p:1"], "worker": ["w:1"]})", R"({"type": "worker", "index": 0})") ==
        cluster_errc::bad_role);
  CHECK(failure_of(R"("cluster": {"chief": ["a:1", "b:1"]})", R"({"type": "chief", "index": 0})") ==
        cluster_errc::bad_role);
  CHECK(failure_of(whole, "") == cluster_errc::missing_job);
  CHECK(failure_of(whole, R"({"type": "worker"})") == cluster_errc::missing_index);
  CHECK(failure_of(whole, R"({"type": "gardener", "index": 0})") == cluster_errc::no_such_job);
  CHECK(failure_of(whole, R"({"type": "worker", "index": 2})") == cluster_errc::no_such_task);
  CHECK(failure_of("", R"({"type": "ps", "index": 0})") == cluster_errc::bad_role);
  CHECK(failure_of("", R"({"type": "worker", "index": 1})") == cluster_errc::no_such_task);
  CHECK_THROWS_WITH(run_config(config(whole, "")), ContainsSubstring("TF_CONFIG: task.type"));
}
