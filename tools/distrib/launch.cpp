// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include "find_program.hpp"
#include "free_ports.hpp"
#include "guard.hpp"
#include "job_page.hpp"
#include "process.hpp"
#include "supervisor.hpp"
#include "task_environment.hpp"
#include "tls_directory.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tools {

namespace {

auto local_cluster(std::size_t ps, std::size_t workers) -> distrib::ClusterSpec {
  const std::vector<std::uint16_t> ports = free_ports(ps + workers);
  std::vector<std::string> addresses;
  for (const std::uint16_t port : ports) addresses.push_back("127.0.0.1:" + std::to_string(port));
  const auto first_worker = addresses.begin() + static_cast<std::ptrdiff_t>(ps);
  return {{"ps", {addresses.begin(), first_worker}}, {"worker", {first_worker, addresses.end()}}};
}

/// Reads PORT, which is one of this machine's, or HOST:PORT.
auto page_address(const std::string& text) -> distrib::Address {
  return distrib::Address::parse(text.find(':') == std::string::npos ? "127.0.0.1:" + text : text);
}

}  // namespace

auto launch(const LaunchOptions& options) -> int {
  const char* path = std::getenv("PATH");
  const FoundProgram program = find_program(options.program.front(), path == nullptr ? "/bin:/usr/bin" : path);
  if (program.code != 0) {
    std::fprintf(stderr, "error: %s: %s\n", options.program.front().c_str(), program.reason.c_str());
    return program.code;
  }

  const distrib::ClusterSpec cluster = local_cluster(options.ps, options.most_workers);
  std::optional<LocalCertificates> certificates;
  if (options.tls) certificates.emplace();
  std::vector<distrib::TaskId> tasks = tasks_of(cluster);
  if (options.evaluator) tasks.push_back({"evaluator", 0});  // no other task talks to it, so it is not in the cluster
  std::vector<TaskCommand> commands;
  for (const distrib::TaskId& task : tasks) {
    TaskCommand command{task_name(task), options.program,
                        environment_with(::environ, "TF_CONFIG", tf_config(task, cluster))};
    if (certificates) {
      const std::string name = "DISTRIB_TLS_DIRECTORY=";
      std::erase_if(command.environment, [&](const std::string& variable) { return variable.starts_with(name); });
      command.environment.push_back(name + certificates->directory());
    }
    command.arguments.front() = program.path;
    for (std::string& flag : task_flags(task, cluster)) command.arguments.push_back(std::move(flag));
    if (options.ranks != 0) command.arguments.push_back("--ranks=" + std::to_string(options.ranks));
    if (options.most_ranks != 0) command.arguments.push_back("--most_ranks=" + std::to_string(options.most_ranks));
    commands.push_back(std::move(command));
  }
  std::string hosts;
  for (const std::string& flag : host_flags(cluster)) hosts.append(hosts.empty() ? "" : " ").append(flag);

  LaunchRules rules = options.rules;
  if (options.ranks != 0) {
    rules.first_dealt = options.ps;
    rules.dealt = options.most_workers;
    rules.idle = options.most_workers - options.workers;
  }
  const bool coloured = use_colours(::isatty(STDOUT_FILENO) == 1, std::getenv("NO_COLOR"), std::getenv("TERM"));
  return run_guarded([&] {
    std::unique_ptr<JobPage> page;
    if (!options.status.empty())
      page = std::make_unique<JobPage>(page_address(options.status), cluster,
                                       certificates ? tls_of(certificates->directory()) : nullptr);
    Supervisor supervisor{std::move(commands), rules, coloured, page.get()};
    supervisor.say(hosts);
    if (certificates) supervisor.say("certificates: " + certificates->directory());
    if (page) supervisor.say("status page: " + page->url());
    return supervisor.run();
  });
}

}  // namespace tools
