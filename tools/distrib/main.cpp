// SPDX-License-Identifier: Apache-2.0
// The command `distrib`. Each subcommand has a header of its own; here are only their options.
#include "checkpoint.hpp"
#include "erase.hpp"
#include "events.hpp"
#include "export.hpp"
#include "launch.hpp"
#include "records.hpp"
#include "render.hpp"
#include "scale.hpp"
#include "status.hpp"
#include "store.hpp"
#include "trace.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
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

/// Reads the option --workers: N, or N..M. Returns what is wrong; empty: nothing.
auto read_workers(const std::string& text, tools::LaunchOptions& options) -> std::string {
  const std::size_t dots = text.find("..");
  const std::string numbers[] = {text.substr(0, dots), dots == std::string::npos ? text : text.substr(dots + 2)};
  std::size_t* const to[] = {&options.workers, &options.most_workers};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& number = numbers[i];
    if (number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos)
      return ": give a number from 1 to 200, or two: 3..8";
    *to[i] = std::stoul(number);
  }
  if (options.workers == 0) return ": a cluster needs at least 1 worker";
  if (options.most_workers > 200) return ": more than 200";
  if (options.most_workers < options.workers) return ": ends below its begin";
  if (options.most_workers > options.workers && options.ranks == 0) return ": a range needs --ranks";
  return "";
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"distrib: tools for distributed training. `distrib COMMAND --help` explains a command.", "distrib"};
  app.require_subcommand(1);

  tools::LaunchOptions options;
  double grace = 10;
  CLI::App* launch = app.add_subcommand("launch",
                                        "Runs PROGRAM as a cluster on this machine, one process for each task.\n"
                                        "distrib launch --ps N --workers N [OPTIONS] -- PROGRAM ARGS...");
  const CLI::Validator tasks = CLI::Range(0, 200).description("");
  launch->add_option("--ps", options.ps, "Number of parameter servers")->required()->check(tasks);
  std::string workers;
  launch
      ->add_option("--workers", workers,
                   "Number of workers; with --ranks perhaps N..M: N at first, and one more, up to M, for each SIGUSR2\n"
                   "to this process")
      ->required();
  CLI::Option* ranks =
      launch
          ->add_option("--ranks", options.ranks, "Number of ranks that are dealt to the workers (one for each worker)")
          ->check(CLI::Range(1, 1 << 20));
  launch
      ->add_option("--most_ranks", options.most_ranks,
                   "With --ranks: most ranks that `distrib scale` may ask for while the job runs (they never change)")
      ->needs(ranks)
      ->check(CLI::Range(1, 1 << 20));
  launch->add_flag("--evaluator", options.evaluator, "Also start an evaluator, which measures the checkpoints");
  launch->add_flag("--tls", options.tls,
                   "Make certificates for this run, by the program openssl; the tasks find them by\n"
                   "DISTRIB_TLS_DIRECTORY and use TLS, or end with code 65 if they cannot");
  launch->add_option("--status", options.status,
                     "Show the job on a page at http://127.0.0.1:PORT/, or at HOST:PORT for others to see; 0: a free\n"
                     "port. With --tls it is https://. The page only shows, nothing can be changed there");
  CLI::Option* restart = launch->add_flag("--restart", options.rules.restart,
                                          "Restart a task that was killed by a signal, or ended with code 1 or a "
                                          "shell's code for a signal (129 to 192)");
  launch->add_option("--max-restarts", options.rules.max_restarts, "How often each task is restarted, at most")
      ->needs(restart)
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->capture_default_str();
  launch->add_option("--grace", grace, "Seconds from SIGTERM to SIGKILL when the job is stopped")
      ->check(CLI::Range(0.0, 86'400.0).description(""))
      ->capture_default_str();
  launch->footer(
      "Each process gets ARGS, then --job_name, --task_index, --ps_hosts and --worker_hosts, and the same\n"
      "values in TF_CONFIG; with --ranks also that flag, and --most_ranks: a worker that is lost and not restarted "
      "does\n"
      "not end the job then, because the other workers serve its ranks. Ctrl-C or SIGTERM asks all tasks to stop; a "
      "second "
      "Ctrl-C kills them.\n"
      "Exit code: 0 if all tasks ended with 0, otherwise the code of the first task that failed and was not\n"
      "restarted.\n"
      "Example: distrib launch --ps 2 --workers 3 --restart -- ./train --steps 1000");

  tools::RecordsOptions records;
  int code = 0;
  tools::add_records(app, records, code);

  tools::CheckpointOptions checkpoint;
  tools::add_checkpoint(app, checkpoint, code);

  tools::StoreOptions store;
  tools::add_store(app, store, code);

  tools::EventsOptions curves;
  CLI::App* events = app.add_subcommand("events", "Shows the curves in TensorBoard's event files.");
  events->add_option("PATH", curves.path, "An event file, or a directory; runs may be in its subdirectories")
      ->required();
  events->add_option("--tag", curves.tags, "Show only the curves with these tags");
  events->add_flag("--all", curves.all, "Also show the points that a run dropped when it went back to an earlier step");
  events->add_flag("--json", curves.json, "Print one JSON object per line, one for each point");
  events->footer(
      "Exit code: 0 no error, 1 an event file is damaged, 64 a file is not an event file, 66 there is no event\n"
      "file. Everything that can be read is shown, also after an error.\n"
      "Example: distrib events out/events --tag loss");

  tools::StatusOptions asked;
  CLI::App* status = app.add_subcommand("status",
                                        "Shows the state of each shard of a running parameter server.\n"
                                        "Example: distrib status 127.0.0.1:2222 --watch");
  status->add_option("address", asked.server, "HOST:PORT of the parameter server")->required();
  status->add_flag("--watch", asked.watch, "Repeat every second, with rates, until Ctrl-C");
  status->add_flag("--json", asked.json, "Print one JSON object per line, one for each shard");
  status->add_option("--html", asked.html, "Write a page with the state of this moment into this file")
      ->excludes("--watch")
      ->excludes("--json");
  status->add_option("--within", asked.within, "Seconds within which each shard must answer")
      ->check(CLI::Range(0.001, 86'400.0).description(""))
      ->capture_default_str();
  status->add_option("--secret", asked.secret_file, "File with the shared secret of the cluster, if it has one");
  status->add_option("--tls", asked.tls,
                     "Directory with tls.crt, tls.key and ca.crt, for a cluster with TLS; otherwise that of\n"
                     "DISTRIB_TLS_DIRECTORY, if it is set");

  tools::ScaleOptions scaled;
  CLI::App* scale =
      app.add_subcommand("scale",
                         "Asks for other ranks of a running job (with_most_ranks), or shows how they have\n"
                         "changed.\n"
                         "Example: distrib scale --ps ps0:2222,ps1:2222 --ranks 0-47 --at +100");
  scale->add_option("--ps", scaled.servers, "HOST:PORT,... of all parameter servers")->required()->delimiter(',');
  scale->add_option("--ranks", scaled.ranks,
                    "The ranks, with rank 0: 0-15,20. Without it the changes so far are shown");
  scale->add_option("--at", scaled.at, "Their first step, or +N: N steps after the first possible one")
      ->capture_default_str();
  scale
      ->add_option("--rate", scaled.rate,
                   "How the learning rate goes on: keep; linear, times the number of ranks over that at the begin of\n"
                   "the job (for SGD and momentum); sqrt, times the root of that (for Adam); or a factor of the\n"
                   "scheduled rate")
      ->capture_default_str();
  scale->add_option("--warm_up", scaled.warm_up, "With --rate: steps from the present factor to the new one")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40).description(""))
      ->capture_default_str();
  scale->add_flag("--json", scaled.json, "Print one JSON object per line, one for each change");
  scale->add_option("--within", scaled.within, "Seconds within which each shard must answer")
      ->check(CLI::Range(0.001, 86'400.0).description(""))
      ->capture_default_str();
  scale->add_option("--secret", scaled.secret_file, "File with the shared secret of the cluster, if it has one");
  scale->add_option("--tls", scaled.tls,
                    "Directory with tls.crt, tls.key and ca.crt, for a cluster with TLS; otherwise that of\n"
                    "DISTRIB_TLS_DIRECTORY, if it is set");
  scale->footer(
      "A change is printed as one line, which the trainer reads in one process (LocalMode::changes) to get the same\n"
      "bits. Exit code: 0 it is in force, 64 refused, 69 a parameter server does not answer.");

  tools::EraseOptions erased;
  CLI::App* erase =
      app.add_subcommand("erase",
                         "Erases keys of a table of a running job (with_erasable_keys): each is then one that was\n"
                         "never seen. The parameter servers write it down before they answer.\n"
                         "Example: distrib erase --ps ps0:2222,ps1:2222 --table users 4711 4712");
  erase->add_option("KEY", erased.keys, "The keys: whole numbers of 64 bits. Put -- before negative ones");
  erase->add_option("--ps", erased.servers, "HOST:PORT,... of all parameter servers")->required()->delimiter(',');
  erase->add_option("--table", erased.table, "Name of the table, one of any keys")->required();
  erase->add_option("--keys-from", erased.keys_from, "File with one key on each line; - is standard input");
  erase->add_flag("--json", erased.json, "Print one JSON object per line; it has the number of keys, not the keys");
  erase->add_option("--within", erased.within, "Seconds within which each shard must answer")
      ->check(CLI::Range(0.001, 86'400.0).description(""))
      ->capture_default_str();
  erase->add_option("--secret", erased.secret_file, "File with the shared secret of the cluster, if it has one");
  erase->add_option("--tls", erased.tls,
                    "Directory with tls.crt, tls.key and ca.crt, for a cluster with TLS; otherwise that of\n"
                    "DISTRIB_TLS_DIRECTORY, if it is set");
  erase->footer(
      "For each shard that has some of the keys a line says after which step they go; the trainer reads these\n"
      "lines in one process (LocalMode::erased) to get the same bits. Checkpoints and exports that exist keep the\n"
      "rows until they are removed.\n"
      "Exit code: 0 all keys are in the logs of the servers, 64 refused, 69 a parameter server does not answer.");

  tools::TraceOptions traces;
  CLI::App* trace = app.add_subcommand("trace", "Works on the traces that the hook Profiler writes.");
  trace->require_subcommand(1);
  CLI::App* merge =
      trace->add_subcommand("merge",
                            "Makes one trace of those of the processes of a job, aligned at their steps,\n"
                            "because clocks differ. Open it in Perfetto or chrome://tracing.");
  merge->add_option("OUT", traces.out, "The file to write")->required();
  merge->add_option("FILE", traces.files, "The trace of a process")->required();
  merge->add_flag("--force", traces.force, "Replace OUT if it exists");
  merge->footer("Example: distrib trace merge job.json out/traces/trace-*.json");

  tools::ExportOptions exported;
  CLI::App* logs = app.add_subcommand("export", "Looks into the log of positions that a job exports for serving.");
  logs->require_subcommand(1);
  CLI::App* list = logs->add_subcommand("log", "Lists the positions of a log, the newest first.");
  list->add_option("--last", exported.last, "How many positions; 0: all")->capture_default_str();
  CLI::App* verify = logs->add_subcommand("verify",
                                          "Reads all positions from the oldest base on, and compares the digests of\n"
                                          "all tables with those of the trainer.");
  CLI::App* compact = logs->add_subcommand("compact",
                                           "Commits the newest state once more as a base, and removes what is older\n"
                                           "than the base before it. The job may go on meanwhile.");
  for (CLI::App* one : {list, verify, compact}) {
    one->add_option("DIR", exported.directory, "The directory of the log, or its URL: s3://BUCKET/PREFIX")->required();
    one->add_flag("--json", exported.json, "Print JSON lines");
  }
  logs->footer(
      "Exit code: 0 good, 1 an object is damaged or missing, 66 there is no log.\n"
      "Example: distrib export verify out/export");

  // Only for the list in --help: the script reads the arguments itself.
  app.add_subcommand("render",
                     "Renders a Jinja2 template to a file for a cluster manager.\n"
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
  if (scale->parsed()) return tools::scale(scaled);
  if (erase->parsed()) return tools::erase(erased);
  if (merge->parsed()) return tools::merge_traces(traces);
  if (list->parsed()) return tools::show_export_log(exported);
  if (verify->parsed()) return tools::verify_export_log(exported);
  if (compact->parsed()) return tools::compact_export_log(exported);
  if (!launch->parsed()) return code;

  if (options.ps == 0)
    return refuse("--ps 0: a cluster needs at least 1 parameter server; for a job in one process run PROGRAM itself");
  if (const std::string wrong = read_workers(workers, options); !wrong.empty())
    return refuse(("--workers " + workers + wrong).c_str());
  if (options.program.empty()) return refuse("the program to run is missing: write -- PROGRAM ARGS... at the end");
  options.rules.grace = std::chrono::milliseconds{static_cast<std::int64_t>(grace * 1000)};
  return tools::launch(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
