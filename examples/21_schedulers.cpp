// SPDX-License-Identifier: Apache-2.0
// Prints which task this process is in the job of a scheduler. Try
// DISTRIB_PS=1 mpirun -np 3 21_schedulers
#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/slurm_resolver.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

void show(const distrib::LaunchedTask& task) {
  print(to_string(task.launcher) + ": " + to_string(task.flags.task()) + " of " + to_string(task.flags.cluster()));
}

// The environment of a task of `DISTRIB_PS=2 srun -N3 -n5`, on hosts with two GPUs.
auto of_a_step() -> distrib::Environment {
  return {{"DISTRIB_PS", "2"},
          {"SLURM_PROCID", "3"},
          {"SLURM_STEP_NUM_TASKS", "5"},
          {"SLURM_STEP_NODELIST", "n[08-10]"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
          {"CUDA_VISIBLE_DEVICES", "0,1"}};
}

void ask_slurm() {
  const distrib::SlurmResolver resolver{.jobs = {{"ps", 2}, {"worker", 3}}, .port_base = 2222};
  const distrib::SlurmTask mine = resolver.resolve(of_a_step());
  print(to_string(mine.task) + " of " + to_string(mine.cluster) + " has GPU " + mine.visible_devices.value_or("any"));
}

void read_pods() {
  const distrib::KubernetesResolver resolver{.jobs = {{"ps", {"role=ps"}}}, .port = 2222};
  const std::string answer = R"({"kind": "PodList", "items": [
      {"metadata": {"name": "train-ps-1"}, "status": {"phase": "Running", "podIP": "10.1.0.7"}},
      {"metadata": {"name": "train-ps-0"}, "status": {"phase": "Running", "podIP": "10.1.0.3"}}]})";
  distrib::KubernetesResolver::Pods pods;
  for (const std::string& selector : resolver.selectors()) {
    print("GET " + distrib::pod_list_path(selector, "training"));
    pods[selector] = distrib::parse_pod_list(answer);
  }
  print(to_string(resolver.cluster(pods)));
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);  // then ....build(pool, task.flags)
  show(task);
  if (task.launcher != distrib::Launcher::nobody) return 0;

  distrib::Error error;
  show(distrib::LaunchedTask::from({}, of_a_step(), rest, error));
  distrib::throw_if(error);
  ask_slurm();
  read_pods();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 64;
}
