// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/slurm_resolver.hpp>

#include <distrib/cluster/scheduler_error.hpp>

#include "support/catch.hpp"

using distrib::ClusterSpec;
using distrib::Environment;
using distrib::Error;
using distrib::scheduler_errc;
using distrib::SlurmResolver;
using distrib::SlurmTask;
using distrib::TaskId;
using Variables = Environment::Variables;

namespace {

/// The variables that `srun -N3 -n5` of Slurm 22.05 sets for its third task.
const Variables three_nodes{{"SLURM_PROCID", "2"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_NTASKS", "5"},
                            {"SLURM_JOB_NODELIST", "n[1-3]"},
                            {"SLURM_STEP_NODELIST", "n[1-3]"},
                            {"SLURM_STEP_NUM_TASKS", "5"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                            {"SLURM_TASKS_PER_NODE", "2(x2),1"},
                            {"SLURMD_NODENAME", "n2"}};

/// The variables that `srun -N2 -n2 ps : -N2 -n3 worker` sets for its fourth task.
const Variables two_groups{{"SLURM_PROCID", "3"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_NODEID", "2"},
                           {"SLURM_DISTRIBUTION", "block"},
                           {"SLURM_HET_SIZE", "2"},
                           {"SLURM_JOB_NODELIST", "n[1-4]"},
                           {"SLURM_JOB_NODELIST_PACK_GROUP_0", "n[1-2]"},
                           {"SLURM_JOB_NODELIST_PACK_GROUP_1", "n[3-4]"},
                           {"SLURM_STEP_NODELIST", "n[1-4]"},
                           {"SLURM_STEP_NUM_TASKS", "5"},
                           {"SLURM_STEP_TASKS_PER_NODE", "1(x2),2,1"},
                           {"SLURMD_NODENAME", "n3"}};

auto with(Variables variables, const Variables& changes) -> Environment {
  for (const auto& [name, value] : changes) variables[name] = value;
  return Environment{std::move(variables)};
}

auto without(Variables variables, const std::string& name) -> Environment {
  variables.erase(name);
  return Environment{std::move(variables)};
}

void refused(const SlurmResolver& resolver, const Environment& environment, scheduler_errc code,
             const std::string& where) {
  CAPTURE(where);
  Error error;
  CHECK_FALSE(resolver.resolve(environment, error).cluster);
  CHECK(error.code == code);
  CHECK(error.where == where);
  std::error_code ec;
  CHECK_FALSE(resolver.resolve(environment, ec).cluster);
  CHECK(ec == code);
  CHECK_THROWS_WITH(resolver.resolve(environment), ContainsSubstring(where));
}

}  // namespace

TEST_CASE("SlurmResolver: ranks in the order of the node list, and a separate port for each task on a host",
          "[cluster][slurm]") {
  const SlurmTask mine = SlurmResolver{}.resolve(Environment{three_nodes});
  CHECK(mine.cluster == ClusterSpec{{"worker", {"n1:8888", "n1:8889", "n2:8888", "n2:8889", "n3:8888"}}});
  CHECK(mine.task == TaskId{"worker", 2});
  CHECK(mine.rank == 2);
  CHECK(mine.local_rank == 0);
  CHECK_FALSE(mine.visible_devices);  // the number of GPUs is not known
}

TEST_CASE("SlurmResolver: jobs get ranks in the order of their names", "[cluster][slurm]") {
  const SlurmResolver resolver{.jobs = {{"worker", 2}, {"ps", 2}, {"chief", 1}}, .port_base = 2222};
  const SlurmTask mine = resolver.resolve(Environment{three_nodes});
  CHECK(mine.cluster ==
        ClusterSpec{{"chief", {"n1:2222"}}, {"ps", {"n1:2223", "n2:2222"}}, {"worker", {"n2:2223", "n3:2222"}}});
  CHECK(mine.cluster.jobs() == std::vector<std::string>{"chief", "ps", "worker"});
  CHECK(mine.task == TaskId{"ps", 1});
}

TEST_CASE("SlurmResolver: n10 comes after n9, as the ranks do", "[cluster][slurm]") {
  Variables variables{{"SLURM_PROCID", "1"},
                      {"SLURM_STEP_NODELIST", "n[9-10]"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                      {"CUDA_VISIBLE_DEVICES", "0"}};
  CHECK(SlurmResolver{}.resolve(Environment{variables}).cluster.task_address("worker", 1) == "n10:8888");
  CHECK(SlurmResolver{.as_tensorflow = true}.resolve(Environment{variables}).cluster.task_address("worker", 1) ==
        "n9:8888");
}

TEST_CASE("SlurmResolver: if a host is listed twice, its local ranks continue", "[cluster][slurm]") {
  const Environment environment{{"SLURM_PROCID", "3"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURMD_NODENAME", "a"},
                                {"SLURM_STEP_NODELIST", "a,b,a"},
                                {"SLURM_STEP_TASKS_PER_NODE", "2,1,2"},
                                {"SLURM_STEP_NUM_TASKS", "5"},
                                {"CUDA_VISIBLE_DEVICES", "0,1"}};
  const SlurmTask mine = SlurmResolver{}.resolve(environment);
  CHECK(mine.cluster == ClusterSpec{{"worker", {"a:8888", "a:8889", "b:8888", "a:8890", "a:8891"}}});
  CHECK(mine.local_rank == 2);
  const SlurmResolver as_tensorflow{.jobs = {{"worker", 3}}, .as_tensorflow = true};
  refused(as_tensorflow, environment, scheduler_errc::no_such_rank, "SLURM_PROCID=3 of 3 tasks");
}

TEST_CASE("SlurmResolver: members that replace Slurm's variables", "[cluster][slurm]") {
  const Environment environment{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NODELIST", "n[1-2]"}};
  CHECK(SlurmResolver{.jobs = {{"ps", 1}, {"worker", 3}}, .tasks_per_node = 2}.resolve(environment).cluster ==
        ClusterSpec{{"ps", {"n1:8888"}}, {"worker", {"n1:8889", "n2:8888", "n2:8889"}}});
  const SlurmResolver nodes{.jobs = {{"ps", 1}, {"worker", 2}}, .nodes = {{"z", 1}, {"a", 2}}};
  CHECK(nodes.resolve(Environment{{"SLURM_PROCID", "1"}, {"SLURMD_NODENAME", "n7"}}).cluster ==
        ClusterSpec{{"ps", {"z:8888"}}, {"worker", {"a:8888", "a:8889"}}});
}

TEST_CASE("SlurmResolver: reads the variables of the job if the step has none", "[cluster][slurm]") {
  const Environment environment{{"SLURM_PROCID", "0"},
                                {"SLURM_NTASKS", "2"},
                                {"SLURM_JOB_NODELIST", "n[1-2]"},
                                {"SLURM_TASKS_PER_NODE", "1(x2)"}};
  CHECK(SlurmResolver{}.resolve(environment).cluster == ClusterSpec{{"worker", {"n1:8888", "n2:8888"}}});
  refused({.as_tensorflow = true}, environment, scheduler_errc::no_step, "SLURM_STEP_NUM_TASKS");
}

TEST_CASE("SlurmResolver: reserved ports", "[cluster][slurm]") {
  const Environment environment = with(three_nodes, {{"SLURM_STEP_RESV_PORTS", "21004,21006-21007"}});
  CHECK(SlurmResolver{}.resolve(environment).cluster ==
        ClusterSpec{{"worker", {"n1:21004", "n1:21006", "n2:21004", "n2:21006", "n3:21004"}}});
  CHECK(SlurmResolver{.reserved_ports = false}.resolve(environment).cluster.task_address("worker", 1) == "n1:8889");
  refused({}, with(three_nodes, {{"SLURM_STEP_RESV_PORTS", "21004"}}), scheduler_errc::bad_port, "n1: task 1");
  refused({}, with(three_nodes, {{"SLURM_STEP_RESV_PORTS", "1-2]"}}), scheduler_errc::bad_variable,
          "SLURM_STEP_RESV_PORTS=1-2]");
  refused({.port_base = 65'535}, Environment{three_nodes}, scheduler_errc::bad_port, "n1: task 1");
}

TEST_CASE("SlurmResolver: divides the GPUs of a host into equal shares", "[cluster][slurm]") {
  const auto share = [](const SlurmResolver& resolver, const char* rank, const char* visible) {
    const Environment environment{{"SLURM_PROCID", rank},
                                  {"SLURM_STEP_NODELIST", "n[1-2]"},
                                  {"SLURM_STEP_NUM_TASKS", "4"},
                                  {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                  {"CUDA_VISIBLE_DEVICES", visible}};
    return resolver.resolve(environment).visible_devices;
  };
  CHECK(share({}, "0", "0,1,2,3") == "0,1");
  CHECK(share({}, "3", "0,1,2,3") == "2,3");
  CHECK(share({}, "1", "4,5,7") == "5");  // with the listed numbers; the last GPU is not used
  CHECK(share({.gpus_per_task = 1}, "2", "GPU-a,GPU-b,GPU-c") == "GPU-a");
  CHECK(share({.gpus_per_node = 6}, "3", "0") == "3,4,5");
  CHECK(share({.gpus_per_node = 4}, "0", "7") == "0,1");  // the listed GPU is ignored, because `gpus_per_node` is 4
  CHECK(share({.gpus_per_node = 2, .gpus_per_task = 1}, "1", "6,7") == "7");
  CHECK(share({.gpus_per_task = 0}, "1", "0,1") == "");
  CHECK_FALSE(share({}, "1", "0"));  // fewer GPUs than tasks: the tasks share them
  CHECK_FALSE(share({}, "1", ""));
  CHECK_FALSE(share({.auto_set_gpu = false}, "0", "0,1,2,3"));

  CHECK(share({.as_tensorflow = true}, "1", "4,5,7") == "1");
  CHECK(share({.gpus_per_node = 4, .as_tensorflow = true}, "3", "0") == "2,3");
}

TEST_CASE("SlurmResolver: keeps GPUs that Slurm has already assigned to each task", "[cluster][slurm]") {
  const Environment bound = with(three_nodes, {{"SLURM_GPUS_PER_TASK", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}});
  CHECK_FALSE(SlurmResolver{}.resolve(bound).visible_devices);
  CHECK(SlurmResolver{.gpus_per_task = 1}.resolve(bound).visible_devices == "0");
}

TEST_CASE("SlurmResolver: refuses to share more GPUs than a node has", "[cluster][slurm]") {
  const Environment environment = with(three_nodes, {{"CUDA_VISIBLE_DEVICES", "0,1,2"}});
  refused({.gpus_per_task = 2}, environment, scheduler_errc::gpu_count, "2 tasks with 2 GPUs each on nodes with 3");
  refused({.gpus_per_node = 4'000'000'000, .gpus_per_task = 4'000'000'000}, environment, scheduler_errc::gpu_count,
          "2 tasks with 4000000000 GPUs each on nodes with 4000000000");
  // TensorFlow counts an empty list as one GPU, which two tasks cannot share.
  refused({.as_tensorflow = true}, with(three_nodes, {{"CUDA_VISIBLE_DEVICES", ""}}), scheduler_errc::no_gpu,
          "1 GPUs for 2 tasks");
}

TEST_CASE("SlurmResolver: errors name the variable or the numbers", "[cluster][slurm]") {
  refused({}, Environment{}, scheduler_errc::no_step, "SLURM_PROCID");
  refused({}, Environment{{"SLURM_PROCID", "0"}}, scheduler_errc::no_step, "SLURM_STEP_NUM_TASKS");
  refused({.jobs = {{"worker", 1}}}, Environment{{"SLURM_PROCID", "0"}}, scheduler_errc::no_step,
          "SLURM_STEP_NODELIST");
  refused({}, Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_NODELIST", "a"}},
          scheduler_errc::no_step, "SLURM_STEP_TASKS_PER_NODE");
  refused({.as_tensorflow = true}, without(three_nodes, "SLURM_STEP_NODELIST"), scheduler_errc::no_step,
          "SLURM_STEP_NODELIST");
  refused({}, with(three_nodes, {{"SLURM_PROCID", "two"}}), scheduler_errc::bad_variable, "SLURM_PROCID=two");
  refused({}, with(three_nodes, {{"SLURM_PROCID", "5"}}), scheduler_errc::no_such_rank, "SLURM_PROCID=5 of 5 tasks");
  refused({.jobs = {{"ps", 1}, {"worker", 1}}}, Environment{three_nodes}, scheduler_errc::task_count,
          "requested 2 tasks, but 5 were assigned");
  refused({.jobs = {{"ps", 4'294'967'295}, {"worker", 6}}}, Environment{three_nodes}, scheduler_errc::task_count,
          "requested 4294967301 tasks, but 5 were assigned");
  refused({}, with(three_nodes, {{"SLURM_STEP_TASKS_PER_NODE", "2,3"}}), scheduler_errc::task_count,
          "3 hosts, but counts of tasks for 2");
  refused({}, with(three_nodes, {{"SLURM_STEP_NODELIST", "n[1-3"}}), scheduler_errc::bad_host_list,
          "node list 'n[1-3' at offset 1");
  refused({}, with(three_nodes, {{"SLURM_STEP_NODELIST", "n[0-999999999999]"}}), scheduler_errc::too_many_tasks,
          "node list 'n[0-999999999999]' at offset 17");
  refused({.tasks_per_node = 4'000'000'000}, Environment{three_nodes}, scheduler_errc::too_many_tasks,
          "12000000000 tasks");
}

TEST_CASE("SlurmResolver: refuses a task that runs on another host than its rank", "[cluster][slurm]") {
  // The variables that `srun -N3 -n6 -m cyclic` sets for its second and fourth task.
  const Variables cyclic{{"SLURM_STEP_NODELIST", "n[1-3]"},
                         {"SLURM_STEP_NUM_TASKS", "6"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                         {"SLURM_DISTRIBUTION", "cyclic"}};
  refused({}, with(cyclic, {{"SLURM_PROCID", "1"}, {"SLURM_LOCALID", "0"}, {"SLURMD_NODENAME", "n2"}}),
          scheduler_errc::placed_elsewhere, "task 0 of n2, in the node list task 1 of n1");
  refused({}, with(cyclic, {{"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "0"}, {"SLURMD_NODENAME", "n2"}}),
          scheduler_errc::placed_elsewhere, "task 0 of n2, in the node list task 1 of n2");
  CHECK(SlurmResolver{}
            .resolve(with(cyclic, {{"SLURM_PROCID", "5"}, {"SLURM_LOCALID", "1"}, {"SLURMD_NODENAME", "n3"}}))
            .task == TaskId{"worker", 5});
}

TEST_CASE("SlurmResolver: the groups of a heterogeneous job form one step", "[cluster][slurm]") {
  const SlurmResolver resolver{.jobs = {{"ps", 2}, {"worker", 3}}};
  const SlurmTask mine = resolver.resolve(Environment{two_groups});
  CHECK(mine.cluster == ClusterSpec{{"ps", {"n1:8888", "n2:8888"}}, {"worker", {"n3:8888", "n3:8889", "n4:8888"}}});
  CHECK(mine.task == TaskId{"worker", 1});
}

TEST_CASE("slurm_group_sizes: number of tasks in each group", "[cluster][slurm]") {
  using Sizes = std::vector<std::uint32_t>;
  CHECK(distrib::detail::slurm_group_sizes(Environment{two_groups}) == Sizes{2, 3});
  const Environment newer =
      with(two_groups, {{"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"}, {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-4]"}});
  CHECK(distrib::detail::slurm_group_sizes(newer) == Sizes{1, 4});
  CHECK(distrib::detail::slurm_group_sizes(Environment{three_nodes}).empty());
  const std::vector<std::pair<std::string, std::string>> changes{{"SLURM_HET_SIZE", "3"},
                                                                 {"SLURM_HET_SIZE", "4000000000"},
                                                                 {"SLURM_HET_SIZE", "x"},
                                                                 {"SLURM_JOB_NODELIST_PACK_GROUP_0", "n[1"},
                                                                 {"SLURM_JOB_NODELIST_PACK_GROUP_0", ""},
                                                                 {"SLURM_JOB_NODELIST_PACK_GROUP_1", "n3"}};
  for (const auto& [name, value] : changes)
    CHECK(distrib::detail::slurm_group_sizes(with(two_groups, {{name, value}})).empty());
  const Environment of_one_group =
      with(two_groups, {{"SLURM_STEP_NODELIST", "n[3-4]"}, {"SLURM_STEP_TASKS_PER_NODE", "2,1"}});
  CHECK(distrib::detail::slurm_group_sizes(of_one_group).empty());
}
