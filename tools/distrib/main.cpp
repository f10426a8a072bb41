// SPDX-License-Identifier: Apache-2.0
// The command `distrib`. Each subcommand has a header of its own; here are only their options.
#include "checkpoint.hpp"
#include "events.hpp"
#include "launch.hpp"
#include "records.hpp"
#include "render.hpp"
#include "status.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int exit_usage = 64;  // EX_USAGE

auto refuse(const char* text) -> int {
  std::fprintf(stderr, "error: %s\n", text);
  return exit_usage;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"distrib: tools around distributed training.", "distrib"};
  app.require_subcommand(1);

  tools::LaunchOptions options;
  double grace = 10;
  CLI::App* launch = app.add_subcommand("launch",
                                        "Runs PROGRAM as a cluster of processes on this machine.\n"
                                        "distrib launch --ps N --workers N [OPTIONS] -- PROGRAM ARGS...");
  const CLI::Validator tasks = CLI::Range(0, 200).description("");
  launch->add_option("--ps", options.ps, "Parameter servers")->required()->check(tasks);
  launch->add_option("--workers", options.workers, "Workers")->required()->check(tasks);
  CLI::Option* restart =
      launch->add_flag("--restart", options.rules.restart, "Start a task again that was killed or ended with code 1");
  launch->add_option("--max-restarts", options.rules.max_restarts, "Restarts of each task")
      ->needs(restart)
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->capture_default_str();
  launch->add_option("--grace", grace, "Seconds between SIGTERM and SIGKILL when the job is stopped")
      ->check(CLI::Range(0.0, 86'400.0).description(""))
      ->capture_default_str();
  launch->footer(
      "Each process gets ARGS, then --job_name, --task_index, --ps_hosts and --worker_hosts, and the same\n"
      "in TF_CONFIG. Exit code: 0 when all end with 0, else that of the first that failed for good.");

  tools::RecordsOptions records;
  int code = 0;
  tools::add_records(app, records, code);

  tools::CheckpointOptions checkpoint;
  tools::add_checkpoint(app, checkpoint, code);

  tools::EventsOptions curves;
  CLI::App* events = app.add_subcommand("events", "Shows the curves of TensorBoard's event files.");
  events->add_option("PATH", curves.path, "An event file, or a directory that runs are in or below")->required();
  events->add_option("--tag", curves.tags, "Only these curves");
  events->add_flag("--all", curves.all, "Also points that a run wrote before it went back to an earlier step");
  events->add_flag("--json", curves.json, "A line of JSON for each point");
  events->footer(
      "Exit code: 0 all is well, 1 an event file is damaged, 64 a file is no event file, 66 there is none.\n"
      "What can be read is shown in any case.");

  tools::StatusOptions asked;
  CLI::App* status = app.add_subcommand("status", "Shows how a running parameter server is, shard by shard.");
  status->add_option("address", asked.server, "HOST:PORT of the parameter server")->required();
  status->add_flag("--watch", asked.watch, "Again each second, with rates, until Ctrl-C");
  status->add_flag("--json", asked.json, "A line of JSON for each shard");
  status->add_option("--within", asked.within, "Seconds each shard has to answer")
      ->check(CLI::Range(0.001, 86'400.0).description(""))
      ->capture_default_str();
  status->add_option("--secret", asked.secret_file, "File with the secret that the cluster shares, if it has one");

  // Only for the list in --help: the script reads the arguments itself.
  app.add_subcommand("render",
                     "Renders a template of a cluster manager's file: Jinja2, strict.\n"
                     "distrib render TEMPLATE [--values FILE] [-D name=value]... [--check]");

  char** const end = argv + argc;
  if (argc > 1 && argv[1] == std::string_view{"render"}) return tools::render({argv + 2, end});

  // The options of this command end at the first --. CLI11 would interpret arguments that are meant for PROGRAM.
  char** const dashes = std::find(argv, end, std::string_view{"--"});
  if (dashes != end) options.program.assign(dashes + 1, end);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  if (events->parsed()) return tools::events(curves);
  if (status->parsed()) return tools::status(asked);
  if (!launch->parsed()) return code;

  if (options.ps == 0) return refuse("--ps 0: a cluster has a parameter server; for one process run PROGRAM itself");
  if (options.workers == 0) return refuse("--workers 0: a cluster has a worker");
  if (options.program.empty()) return refuse("what to run is missing: write -- PROGRAM ARGS... at the end");
  options.rules.grace = std::chrono::milliseconds{static_cast<std::int64_t>(grace * 1000)};
  return tools::launch(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
