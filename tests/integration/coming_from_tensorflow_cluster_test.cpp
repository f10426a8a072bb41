// SPDX-License-Identifier: Apache-2.0
// The code about clusters, and about how a task finds its role, in docs/coming-from-tensorflow.md.
#include <distrib/cluster/cluster_def.hpp>
#include <distrib/cluster/cluster_dict.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_filters.hpp>
#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/master_url.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/run_config.hpp>
#include <distrib/cluster/server_def.hpp>
#include <distrib/cluster/slurm_host_list.hpp>
#include <distrib/cluster/slurm_resolver.hpp>
#include <distrib/cluster/tf_config.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <vector>

TEST_CASE("Coming from TensorFlow: P001 to P005 clusters", "[integration]") {
  const distrib::ClusterSpec cluster{{"ps", {"ps0:2222", "ps1:2222"}}, {"worker", {"w0:2222"}}};
  const auto sparse = distrib::ClusterSpec::from_sparse({{"worker", {{1, "w1:2222"}, {3, "w3:2222"}}}});
  CHECK(distrib::parse_cluster_def(write_cluster_def(cluster)) == cluster);
  CHECK(cluster.num_tasks("ps") == 2);
  CHECK(sparse.task_indices("worker") == std::vector<std::uint32_t>{1, 3});
  CHECK(cluster.task_address("worker", 0) == "w0:2222");
  CHECK(sparse.job_tasks("worker").size() == 4);
  CHECK(as_dict(cluster).size() == 2);
  CHECK(cluster != sparse);
  CHECK(static_cast<bool>(cluster));
  CHECK(to_string(cluster) == "ClusterSpec({'ps': ['ps0:2222', 'ps1:2222'], 'worker': ['w0:2222']})");
}

TEST_CASE("Coming from TensorFlow: P006 to P008 filters and definitions of servers", "[integration]") {
  const distrib::ClusterSpec cluster{{"ps", {"ps0:2222"}}, {"worker", {"w0:2222", "w1:2222"}}};
  distrib::ClusterDeviceFilters filters;
  filters.set({"worker", 1}, {"/job:ps", "/job:worker/task:1"});
  CHECK_FALSE(filters.sees({"worker", 1}, distrib::DeviceSpec::parse("/job:worker/task:0")));
  const auto def = distrib::make_server_def(cluster, {.job_name = "ps"});
  CHECK(def.task_index == 0);
  const auto other = distrib::make_server_def(def, {.job_name = "worker", .task_index = 1});
  CHECK(other.protocol == "grpc");
  CHECK_NOTHROW(distrib::check_server_def(other));
}

TEST_CASE("Coming from TensorFlow: P009 to P012, P014 a server starts, is found, and stops", "[integration]") {
  distrib::IoPool io{2};
  distrib::Server server{io, distrib::ClusterSpec{{"ps", {"127.0.0.1:0"}}, {"worker", {"w0:2222"}}}, "ps", 0};
  CHECK(server.port() != 0);
  CHECK(server_target(distrib::local_server_def(), server.port()).starts_with("grpc://localhost:"));
  const distrib::ClusterSpec taken{{"ps", {"127.0.0.1:" + std::to_string(server.port())}}, {"worker", {"w0:2222"}}};
  CHECK_THROWS_AS(distrib::Server(io, taken, "ps", 0), std::system_error);
  auto ended = std::async(std::launch::async, [&] { return server.join(); });
  server.stop();
  CHECK(ended.get() == 1);  // no worker came: it may be started again
}

TEST_CASE("Coming from TensorFlow: P079 to P081 TF_CONFIG and roles", "[integration]") {
  const auto config = distrib::parse_tf_config(
      R"({"cluster": {"chief": ["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": {"type": "worker", "index": 0}})");
  CHECK(config.task() == distrib::TaskId{"worker", 0});
  CHECK(config.master() == "w:1");
  const auto run = distrib::run_config(config);
  CHECK(run.num_worker_replicas == 2);
  CHECK_FALSE(is_chief(config.cluster, {"worker", 0}));
  CHECK(id_in_cluster(config.cluster, {"worker", 0}) == 1);
  CHECK(worker_count(config.cluster, "worker") == 2);
  CHECK_NOTHROW(check_role(config.cluster, {"evaluator", 0}));
}

TEST_CASE("Coming from TensorFlow: P082 Slurm", "[integration]") {
  const distrib::Environment environment{{"SLURM_PROCID", "3"},
                                         {"SLURM_STEP_NUM_TASKS", "5"},
                                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                                         {"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  const distrib::SlurmResolver resolver{.jobs = {{"ps", 2}, {"worker", 3}}, .port_base = 2222};
  const auto task = resolver.resolve(environment);
  CHECK(task.cluster ==
        distrib::ClusterSpec{{"ps", {"n1:2222", "n1:2223"}}, {"worker", {"n1:2224", "n2:2222", "n2:2223"}}});
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
