// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/task_environment.hpp"

#include <distrib/cluster/cluster_flags.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::ClusterFlags;
using Texts = std::vector<std::string>;

namespace {

const distrib::ClusterSpec cluster{{"ps", {"127.0.0.1:1", "127.0.0.1:2"}}, {"worker", {"127.0.0.1:3"}}};

auto flags_from(const Texts& arguments, const std::string& tf_config) -> ClusterFlags {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  Texts rest;
  distrib::Error error;
  ClusterFlags flags = ClusterFlags::from(pointers, tf_config, rest, error);
  CHECK_FALSE(error);
  CHECK(rest.empty());
  return flags;
}

}  // namespace

TEST_CASE("tasks_of: every task once, named by job and index", "[tools]") {
  Texts names;
  for (const distrib::TaskId& task : tools::tasks_of(cluster)) names.push_back(tools::task_name(task));
  CHECK(names == Texts{"ps0", "ps1", "worker0"});
}

TEST_CASE("task_flags, tf_config: their exact texts", "[tools]") {
  CHECK(tools::task_flags({"ps", 1}, cluster) ==
        Texts{"--job_name=ps", "--task_index=1", "--ps_hosts=127.0.0.1:1,127.0.0.1:2", "--worker_hosts=127.0.0.1:3"});
  CHECK(tools::tf_config({"worker", 0}, cluster) ==
        R"({"cluster":{"ps":["127.0.0.1:1","127.0.0.1:2"],"worker":["127.0.0.1:3"]},)"
        R"("task":{"type":"worker","index":0}})");
}

TEST_CASE("task_flags, tf_config: the library reads the same cluster from both", "[tools]") {
  std::vector<distrib::TaskId> tasks = tools::tasks_of(cluster);
  tasks.push_back({"evaluator", 0});
  for (const distrib::TaskId& task : tasks) {
    CAPTURE(tools::task_name(task));
    const ClusterFlags flags = flags_from(tools::task_flags(task, cluster), "");
    CHECK(flags.task() == task);
    CHECK(flags.cluster() == cluster);
    CHECK(flags == flags_from({}, tools::tf_config(task, cluster)));
  }
}

TEST_CASE("environment_with: sets one variable, keeps the others", "[tools]") {
  const char* const environment[] = {"HOME=/h", "TF_CONFIG=old", "TF_CONFIG_DIR=d", "ODD", nullptr};
  CHECK(tools::environment_with(environment, "TF_CONFIG", "{}") ==
        Texts{"HOME=/h", "TF_CONFIG_DIR=d", "ODD", "TF_CONFIG={}"});
  CHECK(tools::environment_with(environment + 4, "A", "") == Texts{"A="});
}
