// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/launched_task.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/mpi_rank.hpp>
#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/cluster/slurm_resolver.hpp>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// A rank that a launcher has started.
struct RankedTask {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  // 0: the launcher does not set it
  std::vector<std::uint32_t> groups;  // number of ranks of each program
  bool one_machine = false;
};

// Finds the launcher that has started ranks, and this process's rank; `nobody` if there is none.
DISTRIB_DECL auto find_ranks(const Environment& environment, RankedTask& task, Error& error) -> Launcher {
  const auto found = [&](const std::optional<MpiRank>& mine) {
    if (mine) task = {mine->rank, mine->size, mine->programs, mine->local_size == mine->size};
    return mine || error;
  };
  const auto flux = mpi_rank(environment, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", error);
  const auto flux_nodes = error ? std::nullopt : environment.number({"FLUX_JOB_NNODES"}, error);
  if (error || (flux && flux->size > 1)) {
    found(flux);
    task.one_machine = flux_nodes == 1U;
    return Launcher::flux;
  }
  if (found(open_mpi_rank(environment, error))) return Launcher::open_mpi;
  if (found(mpi_rank(environment, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
                     "MV2_COMM_WORLD_LOCAL_SIZE", error)))
    return Launcher::mvapich2;
  const auto pmi = pmi_rank(environment, error);
  if (error) return Launcher::pmi;
  if (flux && (!pmi || pmi->size == 1) && found(flux)) return Launcher::flux;
  if (found(mpi_rank(environment, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
                     "JSM_NAMESPACE_LOCAL_SIZE", error)))
    return Launcher::jsm;
  const auto step_size = environment.number({"SLURM_STEP_NUM_TASKS"}, error);
  const auto step_rank = environment.number({"SLURM_PROCID"}, error);
  // PMIx inside an salloc and not from srun: then the step describes PMIx's own daemons.
  const bool other_pmix = !environment.first_of({"PMIX_RANK"}).empty() &&
                          !environment.first_of({"PMIX_NAMESPACE"}).starts_with("slurm.pmix.");
  if (error || (step_size && step_rank && (!pmi || pmi->size == *step_size) && !other_pmix)) {
    task = {step_rank.value_or(0), step_size.value_or(0), slurm_group_sizes(environment), false};
    if (!error && task.rank >= task.size)
      error = {scheduler_errc::no_such_rank,
               "SLURM_PROCID=" + std::to_string(task.rank) + " of " + std::to_string(task.size) + " tasks"};
    return Launcher::slurm;
  }
  if (found(pmi)) return Launcher::pmi;
  constexpr std::pair<Launcher, const char*> without_size[] = {
      {Launcher::pmix, "PMIX_RANK"}, {Launcher::pals, "PALS_RANKID"}, {Launcher::alps, "ALPS_APP_PE"}};
  for (const auto& [launcher, name] : without_size) {
    const auto rank = environment.number({name}, error);
    if (rank) task = {*rank, 0, {}, false};
    if (rank || error) return launcher;
  }
  return Launcher::nobody;
}

// Makes the flags from the variables that stand for the four flags. Errors name the variables.
DISTRIB_DECL auto flags_of_variables(const Environment& environment, Error& error) -> ClusterFlags {
  std::vector<std::string> texts;
  const auto add = [&](const char* flag, std::initializer_list<const char*> names) {
    if (const auto text = environment.first_of(names); !text.empty()) texts.push_back(flag + std::string{text});
  };
  add("--job_name=", {"DISTRIB_JOB_NAME"});
  add("--ps_hosts=", {"DISTRIB_PS_HOSTS"});
  add("--worker_hosts=", {"DISTRIB_WORKER_HOSTS"});
  const auto slot = environment.number({"DISTRIB_TASK_SLOT"}, error);
  if (slot == 0U) error = {scheduler_errc::bad_variable, "DISTRIB_TASK_SLOT=0"};
  if (error) return {};
  if (environment.first_of({"DISTRIB_TASK_INDEX"}).empty() && slot)
    texts.push_back("--task_index=" + std::to_string(*slot - 1));
  else add("--task_index=", {"DISTRIB_TASK_INDEX", "JOB_COMPLETION_INDEX"});
  std::vector<std::string> rest;
  ClusterFlags flags = ClusterFlags::from(pointers_to(texts), {}, rest, error);
  std::string variable = "DISTRIB_";
  for (const char c : std::string_view{error.where}.substr(error.where.starts_with("--") ? 2 : 0)) {
    if (c != '_' && (c < 'a' || c > 'z')) break;
    variable += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
  }
  if (error.where.starts_with("--")) error.where.replace(0, variable.size() - 6, variable);  // "DISTRIB_" replaces "--"
  return flags;
}

// Sets job and index for a rank: the first `ps` ranks are ps, the others workers.
DISTRIB_DECL void name_rank(const RankedTask& ranked, std::size_t ps, ClusterFlags& flags) {
  const bool is_ps = ranked.rank < ps;
  flags.job_name = is_ps ? "ps" : "worker";
  flags.task_index = static_cast<std::uint32_t>(is_ps ? ranked.rank : ranked.rank - ps);
}

// Makes the cluster of the ranks when no host lists are set.
DISTRIB_DECL auto flags_of_ranks(Launcher launcher, const RankedTask& ranked, const Environment& environment,
                                 LaunchedTask& task, Error& error) -> ClusterFlags {
  if (ranked.size == 1) return {};
  if (ranked.size == 0) {
    error = {scheduler_errc::unknown_size,
             "rank " + std::to_string(ranked.rank) + ", started by " + to_string(launcher)};
    return {};
  }
  auto ps = environment.number({"DISTRIB_PS"}, error);
  if (!ps && ranked.groups.size() > 1) ps = ranked.groups.front();
  const auto told = environment.number({"DISTRIB_PORT_BASE"}, error);
  const std::uint32_t port = told.value_or(SlurmResolver{}.port_base);
  if (error) return {};
  if (!ps || *ps == 0 || *ps >= ranked.size) {
    error = {scheduler_errc::unknown_split, std::to_string(ranked.size) + " tasks, started by " + to_string(launcher)};
    return {};
  }
  ClusterFlags flags;
  name_rank(ranked, *ps, flags);
  if (port == 0 || port > 65'535) {
    error = {scheduler_errc::bad_variable, "DISTRIB_PORT_BASE=" + std::to_string(port)};
  } else if (launcher == Launcher::slurm) {
    const SlurmResolver resolver{.jobs = {{"ps", *ps}, {"worker", ranked.size - *ps}},
                                 .port_base = static_cast<std::uint16_t>(port),
                                 .reserved_ports = !told};
    const SlurmTask mine = resolver.resolve(environment, error);
    if (error) return {};
    task.visible_devices = mine.visible_devices;
    for (const auto& [index, address] : *mine.cluster.find("ps")) flags.ps_hosts.push_back(address);
    for (const auto& [index, address] : *mine.cluster.find("worker")) flags.worker_hosts.push_back(address);
  } else if (!ranked.one_machine) {
    error = {scheduler_errc::unknown_hosts, std::to_string(ranked.size) + " ranks, started by " + to_string(launcher)};
  } else if (port + ranked.size - 1 > 65'535) {
    error = {scheduler_errc::bad_port, "DISTRIB_PORT_BASE=" + std::to_string(port)};
  } else {
    for (std::uint32_t rank = 0; rank < ranked.size; ++rank)
      (rank < *ps ? flags.ps_hosts : flags.worker_hosts).push_back("127.0.0.1:" + std::to_string(port + rank));
  }
  return error ? ClusterFlags{} : flags;
}

// Makes the cluster of two host lists; the rank says which task this process is.
DISTRIB_DECL auto flags_of_lists(const RankedTask& ranked, const Environment& environment, Error& error)
    -> ClusterFlags {
  ClusterFlags flags;
  flags.ps_hosts = split_hosts(environment.first_of({"DISTRIB_PS_HOSTS"}));
  flags.worker_hosts = split_hosts(environment.first_of({"DISTRIB_WORKER_HOSTS"}));
  const std::size_t hosts = flags.ps_hosts.size() + flags.worker_hosts.size();
  for (const auto* list : {&flags.ps_hosts, &flags.worker_hosts})
    for (const std::string& host : *list)
      if (host.empty())
        error = {cluster_errc::empty_address, list == &flags.ps_hosts ? "DISTRIB_PS_HOSTS" : "DISTRIB_WORKER_HOSTS"};
  const std::string told = "DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS have " + std::to_string(hosts) + " hosts, ";
  if (!error && ranked.size != 0 && hosts != ranked.size)
    error = {scheduler_errc::task_count, told + "the launcher " + std::to_string(ranked.size) + " ranks"};
  if (!error && ranked.rank >= hosts)
    error = {scheduler_errc::no_such_rank, told + "this is rank " + std::to_string(ranked.rank)};
  if (error) return {};
  name_rank(ranked, flags.ps_hosts.size(), flags);
  return flags;
}

// Finds the task from the first source that has any information.
DISTRIB_DECL void find_task(const ClusterFlagTexts& texts, const Environment& environment, LaunchedTask& task,
                            Error& error) {
  if (texts.any()) task.flags = flags_from_texts(texts, ClusterFlags::UnlistedTask::refuse, error);
  if (error || texts.any()) return;

  const bool lists = !environment.first_of({"DISTRIB_PS_HOSTS", "DISTRIB_WORKER_HOSTS"}).empty();
  const bool named = !environment.first_of({"DISTRIB_JOB_NAME"}).empty();
  if (const std::string_view tf_config = environment.first_of({"TF_CONFIG"}); !named && !lists && !tf_config.empty()) {
    std::vector<std::string> none;
    task.launcher = Launcher::tf_config;
    task.flags = ClusterFlags::from({}, tf_config, none, error);
    return;
  }
  RankedTask ranked;
  if (named) {
    task.launcher = Launcher::variables;
    task.flags = flags_of_variables(environment, error);
    return;
  }
  task.launcher = find_ranks(environment, ranked, error);
  const bool ranks = task.launcher != Launcher::nobody;
  if (lists) task.launcher = Launcher::variables;
  if (error) return;
  if (lists && !ranks) error = {cluster_errc::missing_job, "DISTRIB_JOB_NAME"};
  else if (lists) task.flags = flags_of_lists(ranked, environment, error);
  else if (ranks) task.flags = flags_of_ranks(task.launcher, ranked, environment, task, error);
}

}  // namespace detail

DISTRIB_DECL auto LaunchedTask::from(std::span<const char* const> arguments, const Environment& environment,
                                     std::vector<std::string>& rest, Error& error) -> LaunchedTask {
  error = {};
  rest.clear();
  LaunchedTask task;
  task.launcher = Launcher::flags;
  const auto retry = environment.number({"DISTRIB_RETRY_EXIT_CODE"}, error);
  if (!error && retry && (*retry < 1 || *retry > 255))
    error = {scheduler_errc::bad_variable, "DISTRIB_RETRY_EXIT_CODE=" + std::to_string(*retry)};
  if (error) return task;
  task.retry_exit_code = static_cast<int>(retry.value_or(1));
  detail::ClusterFlagTexts texts = detail::read_cluster_flags(arguments, rest, error);
  if (!error) detail::find_task(texts, environment, task, error);
  const auto stand_in = [&environment](std::optional<std::string_view>& text, const char* variable) {
    const std::string_view told = environment.first_of({variable});
    if (!text && !told.empty()) text = told;
  };
  stand_in(texts.ranks, "DISTRIB_RANKS");
  stand_in(texts.most_ranks, "DISTRIB_MOST_RANKS");
  detail::set_ranks(texts, task.flags, error);
  return task;
}

DISTRIB_DECL auto LaunchedTask::find(int argc, const char* const* argv, std::vector<std::string>& rest, ErrorRef to)
    -> LaunchedTask {
  detail::ErrorOut error{to};
  const std::vector<std::string> arguments = detail::arguments_of(argc, argv, error);
  if (error) return {};
  return from(detail::pointers_to(arguments), Environment::of_process(), rest, error);
}

DISTRIB_DECL auto LaunchedTask::find(int argc, const char* const* argv, std::vector<std::string>& rest)
    -> LaunchedTask {
  Error error;
  return detail::or_throw(find(argc, argv, rest, error), error);
}

}  // namespace v0
}  // namespace distrib
