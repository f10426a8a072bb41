// SPDX-License-Identifier: Apache-2.0
// What docs/coming-from-tensorflow.md shows of clusters, and of who tells a task its place.
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/master_url.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/slurm_host_list.hpp>
#include <distrib/cluster/slurm_resolver.hpp>
#include <distrib/cluster/tf_config.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

TEST_CASE("Coming from TensorFlow: P082 Slurm", "[integration]") {
  const distrib::Environment environment{{"SLURM_PROCID", "3"},
                                         {"SLURM_STEP_NUM_TASKS", "5"},
                                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                                         {"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  const distrib::SlurmResolver resolver{.jobs = {{"ps", 2}, {"worker", 3}}, .port_base = 2222};
  const auto task = resolver.resolve(environment);
  CHECK(task.cluster == distrib::ClusterSpec{{"ps", {"n1:2222", "n1:2223"}}, {"worker", {"n1:2224", "n2:2222", "n2:2223"}}});
  CHECK(task.task == distrib::TaskId{"worker", 1});
  CHECK(distrib::master_url(task.cluster, task.task, "grpc") == "grpc://n2:2222");
}

TEST_CASE("Coming from TensorFlow: P083 lists of hosts and of tasks", "[integration]") {
  const std::vector<std::string> hosts = distrib::expand_host_list("n[08-10],m5");
  CHECK(hosts == std::vector<std::string>{"n08", "n09", "n10", "m5"});
  const auto tasks = distrib::expand_tasks_per_node("3(x2),1");
  CHECK(tasks == std::vector<std::uint32_t>{3, 3, 1});
}

TEST_CASE("Coming from TensorFlow: P084 shares of GPUs", "[integration]") {
  const distrib::Environment environment{{"SLURM_PROCID", "1"},
                                         {"SLURM_STEP_NUM_TASKS", "2"},
                                         {"SLURM_STEP_NODELIST", "n1"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "2"}};
  const distrib::SlurmResolver resolver{.gpus_per_node = 4, .gpus_per_task = 2};
  const auto devices = resolver.resolve(environment).visible_devices;
  CHECK(devices == "2,3");
}

TEST_CASE("Coming from TensorFlow: P085 Kubernetes", "[integration]") {
  const auto get = [](std::string_view path) -> std::string {
    CHECK(path == "/api/v1/pods?labelSelector=job-name%3Dtensorflow");
    return R"({"items": [{"metadata": {"name": "a"}, "status": {"phase": "Running", "podIP": "10.0.0.1"}}]})";
  };
  const distrib::KubernetesResolver resolver;
  distrib::KubernetesResolver::Pods pods;
  for (const std::string& selector : resolver.selectors())
    pods[selector] = distrib::parse_pod_list(get(distrib::pod_list_path(selector)));
  const distrib::ClusterSpec cluster = resolver.cluster(pods);
  CHECK(cluster == distrib::ClusterSpec{{"worker", {"10.0.0.1:8470"}}});
}
