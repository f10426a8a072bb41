// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/cluster/flag_file.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/tf_config.hpp>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto ClusterFlags::parse(int argc, const char* const* argv, ErrorRef to) -> ClusterFlags {
  detail::ErrorOut error{to};
  std::vector<std::string> rest;
  ClusterFlags flags = parse_known(argc, argv, rest, error);
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  if (error || rest.empty()) return flags;
  error = {cluster_errc::unknown_flag, rest.front()};
  return {};
}

DISTRIB_DECL auto ClusterFlags::parse_known(int argc, const char* const* argv, std::vector<std::string>& rest,
                                            ErrorRef to) -> ClusterFlags {
  detail::ErrorOut error{to};
  const char* tf_config = std::getenv("TF_CONFIG");  // NOLINT(concurrency-mt-unsafe): before threads, in main
  const std::vector<std::string> arguments = detail::arguments_of(argc, argv, error);
  if (error) return {};
  return from(detail::pointers_to(arguments), tf_config == nullptr ? "" : tf_config, rest, error);
}

DISTRIB_DECL auto ClusterFlags::help() -> std::string {
  std::string text;
  const auto line = [&](std::string_view name, std::string_view help) {
    text += "  --" + std::string{name} + std::string(std::size_t{18} - name.size(), ' ') + std::string{help} + '\n';
  };
  for (const ClusterFlags::FlagInfo& flag : known) line(flag.name, flag.help);
  line("ranks", "number of ranks that are dealt to the workers; without it each worker is one");
  line("most_ranks", "most ranks that `distrib scale` may ask for; without it the ranks never change");
  line("flagfile", "PATH of a file with more flags, one per line");
  return text;
}

namespace detail {

DISTRIB_DECL auto ClusterFlagTexts::find(std::string_view name) noexcept -> std::optional<std::string_view>* {
  if (name == "job_name") return &job_name;
  if (name == "task_index") return &task_index;
  if (name == "ps_hosts") return &ps_hosts;
  if (name == "worker_hosts") return &worker_hosts;
  if (name == "ranks") return &ranks;
  if (name == "most_ranks") return &most_ranks;
  return nullptr;
}

DISTRIB_DECL auto read_cluster_flags(std::span<const char* const> arguments, std::vector<std::string>& rest,
                                     Error& error) -> ClusterFlagTexts {
  ClusterFlagTexts texts;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string_view argument = arguments[at];
    if (argument == "--") {
      for (; at < arguments.size(); ++at) rest.emplace_back(arguments[at]);
      break;
    }
    const std::size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with('-') ? 1 : 0;
    const std::size_t equals = argument.find('=');
    auto* text = dashes == 0 ? nullptr : texts.find(argument.substr(dashes, equals - dashes));
    if (text == nullptr) {
      rest.emplace_back(argument);
    } else if (equals != std::string_view::npos) {
      *text = argument.substr(equals + 1);
    } else if (at + 1 < arguments.size()) {
      *text = arguments[++at];
    } else {
      error = {cluster_errc::missing_value, std::string{argument}};
    }
  }
  return texts;
}

// Returns the hosts of a flag. Fails if the flag is missing or one of its entries is empty.
DISTRIB_DECL auto hosts_of_flag(std::string_view flag, std::optional<std::string_view> text, Error& error)
    -> std::vector<std::string> {
  if (!text || text->empty()) {
    error = {cluster_errc::missing_hosts, std::string{flag}};
    return {};
  }
  auto hosts = split_hosts(*text);
  for (const std::string& host : hosts)
    if (host.empty()) error = {cluster_errc::empty_address, std::string{flag} + "=" + std::string{*text}};
  return hosts;
}

DISTRIB_DECL auto flags_from_texts(const ClusterFlagTexts& texts, ClusterFlags::UnlistedTask unlisted, Error& error)
    -> ClusterFlags {
  ClusterFlags flags;
  if (!texts.job_name || texts.job_name->empty()) return flags;  // without a job name the other flags do not count
  flags.job_name = *texts.job_name;
  const bool is_evaluator = flags.job_name == "evaluator";
  const bool is_onlooker = flags.job_name == "onlooker";  // there may be any number of them
  if (flags.job_name != "ps" && flags.job_name != "worker" && !is_evaluator && !is_onlooker) {
    error = {cluster_errc::no_such_job,
             "--job_name=" + flags.job_name + " (must be ps, worker, evaluator or onlooker)"};
    return {};
  }
  flags.ps_hosts = hosts_of_flag("--ps_hosts", texts.ps_hosts, error);
  if (!error) flags.worker_hosts = hosts_of_flag("--worker_hosts", texts.worker_hosts, error);
  if (error) return {};

  const std::string_view index_text = texts.task_index.value_or("0");
  const std::optional<std::int64_t> index = integer_flag(index_text);
  const std::size_t hosts = flags.job_name == "ps" ? flags.ps_hosts.size() : flags.worker_hosts.size();
  const std::size_t tasks = is_evaluator ? 1 : hosts;
  const std::string flag = "--task_index=" + std::string{index_text};
  if (!index || *index < 0 || *index > std::numeric_limits<std::uint32_t>::max()) {
    error = {cluster_errc::bad_integer, flag};
  } else if (unlisted == ClusterFlags::UnlistedTask::refuse && !is_onlooker &&
             static_cast<std::uint64_t>(*index) >= tasks) {
    error = {cluster_errc::no_such_task, flag + ": job '" + flags.job_name + "' has " + std::to_string(tasks) +
                                             (is_evaluator ? " task"
                                              : tasks == 1 ? " host"
                                                           : " hosts")};
  }
  if (error) return {};
  flags.task_index = static_cast<std::uint32_t>(*index);
  return flags;
}

DISTRIB_DECL void set_ranks(const ClusterFlagTexts& texts, ClusterFlags& flags, Error& error) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const auto set = [&error](std::optional<std::string_view> text, const char* flag, std::uint32_t& to) {
    if (error || !text) return;
    const std::optional<std::int64_t> number = integer_flag(*text);
    if (number && *number >= 1 && *number <= most) to = static_cast<std::uint32_t>(*number);
    else error = {cluster_errc::bad_integer, flag + std::string{*text}};
  };
  if (error) return;
  set(texts.ranks, "--ranks=", flags.ranks);
  set(texts.most_ranks, "--most_ranks=", flags.most_ranks);
  if (error) flags = {};
}

// Returns `config` with "master", TensorFlow 1's name of the chief, replaced by "chief".
DISTRIB_DECL auto with_chief(TfConfig config, Error& error) -> TfConfig {
  if (!config.cluster.contains("master")) return config;
  if (config.cluster.contains("chief")) error = {cluster_errc::bad_role, "TF_CONFIG: both a chief and a master"};
  ClusterSpec cluster;
  for (const std::string& job : config.cluster.jobs())
    if (!error) cluster.add(job == "master" ? "chief" : job, *config.cluster.find(job));
  config.cluster = std::move(cluster);
  if (config.task_type == "master") config.task_type = "chief";
  return config;
}

// Fails if `config` does not name all tasks. Such a process is one of many tasks; it must not take itself for the whole
// job.
DISTRIB_DECL void check_whole(const TfConfig& config, Error& error) {
  for (const std::string& job : config.cluster.jobs()) {
    std::uint32_t next = 0;
    for (const auto& [index, address] : *config.cluster.find(job))
      if (index != next++) {
        error = {cluster_errc::sparse_job, "TF_CONFIG: job '" + job + "' has no task " + std::to_string(next - 1)};
        return;
      }
  }
  if (config.sparse_cluster && rank_count(config.cluster) < 2)
    error = {cluster_errc::sparse_job, "TF_CONFIG: sparseCluster does not name the other workers"};
}

// Returns the addresses of a job; none if the cluster does not have it.
DISTRIB_DECL auto hosts_of_job(const ClusterSpec& cluster, std::string_view job) -> std::vector<std::string> {
  std::vector<std::string> hosts;
  const ClusterSpec::Tasks* tasks = cluster.find(job);
  if (tasks == nullptr) return hosts;
  for (const auto& [index, address] : *tasks) hosts.push_back(address);
  return hosts;
}

DISTRIB_DECL auto flags_from_tf_config(std::string_view text, Error& error) -> ClusterFlags {
  const TfConfig told = parse_tf_config(text, error);
  if (error) error.where = "TF_CONFIG at " + error.where;
  const TfConfig config = error ? TfConfig{} : with_chief(told, error);
  if (!error) check_whole(config, error);
  if (error) return {};
  ClusterFlags flags;
  flags.ps_hosts = hosts_of_job(config.cluster, "ps");
  flags.worker_hosts = hosts_of_job(config.cluster, "worker");
  flags.chief_hosts = hosts_of_job(config.cluster, "chief");
  std::size_t tasks = 0;
  for (const std::string& job : config.cluster.jobs()) tasks += config.cluster.find(job)->size();
  if (tasks == 0 || (tasks == 1 && flags.ps_hosts.empty())) return {};  // this process is the whole job

  const std::optional<TaskId> task = config.task();
  if (!task) {
    error = {config.task_type ? cluster_errc::missing_index : cluster_errc::missing_job,
             config.task_type ? "TF_CONFIG: task.index" : "TF_CONFIG: task.type"};
    return {};
  }
  std::error_code ec;
  // An onlooker may be outside of the cluster, as an evaluator.
  check_role(config.cluster, task->job == "onlooker" ? TaskId{"evaluator", 0} : *task, ec);
  if (ec) error = {ec, "TF_CONFIG: " + to_string(*told.task())};
  else if (flags.ps_hosts.empty()) error = {cluster_errc::empty_job, "TF_CONFIG: cluster.ps"};
  else if (rank_count(config.cluster) == 0) error = {cluster_errc::empty_job, "TF_CONFIG: cluster.worker"};
  flags.job_name = task->job;
  flags.task_index = task->index;
  return error ? ClusterFlags{} : flags;
}

}  // namespace detail

DISTRIB_DECL auto ClusterFlags::from(std::span<const char* const> arguments, std::string_view tf_config,
                                     std::vector<std::string>& rest, Error& error, ClusterFlags::UnlistedTask unlisted)
    -> ClusterFlags {
  error = {};
  rest.clear();
  const detail::ClusterFlagTexts texts = detail::read_cluster_flags(arguments, rest, error);
  if (error) return {};
  ClusterFlags flags = !texts.any() && !tf_config.empty() ? detail::flags_from_tf_config(tf_config, error)
                                                          : detail::flags_from_texts(texts, unlisted, error);
  detail::set_ranks(texts, flags, error);
  return flags;
}

}  // namespace v0
}  // namespace distrib
