// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/launched_task.hpp>
#include <distrib/cluster/slurm_host_list.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

namespace {

using distrib::Environment;

/// Reads lines NAME=VALUE.
auto variables_of(std::string_view text) -> Environment::Variables {
  Environment::Variables variables;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

void lists(std::string_view text) {
  distrib::Error error;
  const auto hosts = distrib::expand_host_list(text, error);
  expect(hosts.size() <= distrib::detail::max_slurm_tasks && (!error || hosts.empty()),
         "a bounded list of hosts, or none");
  for (const std::string& host : hosts) expect(!host.empty() && host.size() <= 255, "hosts have names");
  std::uint64_t sum = 0;
  for (const std::uint32_t tasks : distrib::expand_tasks_per_node(text, error)) sum += tasks;
  expect(sum <= distrib::detail::max_slurm_tasks, "a bounded number of tasks");
}

void answers(std::string_view text) {
  distrib::Error error;
  distrib::KubernetesResolver::Pods pods;
  pods["job-name=tensorflow"] = distrib::parse_pod_list(text, error);
  expect(!error || pods["job-name=tensorflow"].empty(), "all pods, or none");
  const auto cluster = distrib::KubernetesResolver{}.cluster(pods, error);
  expect(error || cluster.num_tasks("worker") == pods["job-name=tensorflow"].size(), "a task for each pod");

  const auto services = distrib::parse_service_list(text, error);
  const auto named = distrib::cluster_of_services(services, 1, error);
  for (const std::string& job : named.jobs())
    expect(named.job_tasks(job).size() == named.num_tasks(job), "jobs without gaps");
}

/// Checks that all ranks of the step find the same cluster, and each is another task of it.
void ranks(const Environment::Variables& variables) {
  const auto launched = [&](const std::string& rank, distrib::Error& error) {
    Environment::Variables of_rank = variables;
    of_rank["SLURM_PROCID"] = rank;
    for (const char* name : {"SLURM_LOCALID", "SLURMD_NODENAME"}) of_rank.erase(name);
    std::vector<std::string> rest;
    return distrib::LaunchedTask::from({}, Environment{of_rank}, rest, error);
  };
  distrib::Error error;
  const auto first = launched("0", error);
  if (error || first.launcher != distrib::Launcher::slurm || first.flags.local()) return;
  const std::size_t size = first.flags.ps_hosts.size() + first.flags.worker_hosts.size();
  std::set<distrib::TaskId> tasks;
  for (std::size_t rank = 0; rank < std::min<std::size_t>(size, 16); ++rank) {
    const auto task = launched(std::to_string(rank), error);
    expect(!error && task.flags.cluster() == first.flags.cluster(), "all ranks find the same cluster");
    expect(tasks.insert(task.flags.task()).second, "each rank is another task");
  }
  launched(std::to_string(size), error);
  expect(error.code == distrib::scheduler_errc::no_such_rank, "there is no rank after the last");
}

}  // namespace

void schedulers(ByteView input) {
  const std::string_view text = distrib::as_text(input);
  lists(text);
  answers(text);
  std::error_code ec;
  const auto named = distrib::detail::task_of_service(text, ec);
  expect(!named || text.ends_with(named->job + '-' + std::string{text.substr(text.rfind('-') + 1)}),
         "the job is in the name");

  const Environment::Variables variables = variables_of(text);
  std::vector<std::string> rest;
  distrib::Error error;
  const auto task = distrib::LaunchedTask::from({}, Environment{variables}, rest, error);
  expect(!error || task.flags.local(), "a task, or an error");
  if (!task.flags.local() && task.launcher != distrib::Launcher::tf_config)
    expect(!task.flags.cluster().task_address(task.flags.job_name, task.flags.task_index).empty(),
           "the task is in the cluster");
  ranks(variables);
}

}  // namespace fuzz
