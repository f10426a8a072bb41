// SPDX-License-Identifier: Apache-2.0
// The main job: Fashion-MNIST, trained by parameter servers and workers. `train --help` shows its flags; run.sh beside
// it does everything, starting with the raw files.
#include "mlp.hpp"
#include "train_settings.hpp"

#include <distrib/cluster/launched_task.hpp>
#include <distrib/core/usable_cpus.hpp>
#include <distrib/data/remote_tfrecords.hpp>
#include <distrib/ecosystem.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Returns how many tasks on the host of this one come before it, in the list of parameter servers, then of workers.
auto tasks_before(const distrib::ClusterFlags& flags) -> std::size_t {
  std::vector<std::string> hosts;
  for (const auto* list : {&flags.ps_hosts, &flags.worker_hosts})
    for (const std::string& task : *list) hosts.push_back(distrib::Address::parse(task).host);
  const std::size_t place = flags.task_index + (flags.job_name == "worker" ? flags.ps_hosts.size() : 0);
  if (place >= hosts.size()) return 0;
  const auto here = hosts.begin() + static_cast<std::ptrdiff_t>(place);
  return static_cast<std::size_t>(std::count(hosts.begin(), here, *here));
}

auto cluster_mode(const Settings& s, const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret)
    -> distrib::ClusterMode {
  distrib::ClusterMode mode{
      .start_within = std::chrono::seconds{s.start_within}, .secret = secret, .tls = tls_of_job()};
  mode.lease = std::min<std::chrono::milliseconds>(mode.lease, std::chrono::seconds{s.lost_after});
  mode.restart_window = std::chrono::seconds{s.lost_after} - mode.lease;
  mode.adopt_after = std::chrono::seconds{s.adopt_after};
  mode.sum_ranks = !s.single_ranks;
  mode.rank_steps_ahead = s.ranks_ahead;
  if (s.metrics.empty()) return mode;
  // Tasks of one host need different ports: parameter servers, then workers. Port 0: the system chooses a free one.
  distrib::Address address = distrib::Address::parse(s.metrics);
  if (address.port != 0) address.port = static_cast<std::uint16_t>(address.port + tasks_before(flags));
  mode.metrics = mode.worker_metrics = address;
  return mode;
}

/// With --local_steps workers make these steps with AdamW, and send what they have changed.
auto learner(const Settings& s) {
  const auto plain = distrib::train(Mlp{});
  if (s.local_steps == 0) return plain;
  return plain.with_local_steps(s.local_steps, distrib::AdamW{.learning_rate = s.local_rate});
}

auto wire_format(const Settings& s) -> distrib::WireFormat {
  if (s.wire_format == "int8") return distrib::Int8Gradients{};
  return s.wire_format == "bfloat16" ? distrib::FloatFormat::bfloat16 : distrib::FloatFormat::float32;
}

/// With --rank_log: how the ranks change in a job in one process.
auto rank_changes(const Settings& s) -> std::vector<distrib::RankEntry> {
  if (s.rank_log.empty()) return {};
  std::ifstream file{s.rank_log};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (!file) throw std::invalid_argument{"--rank_log " + s.rank_log + ": cannot be read"};
  return distrib::parse_rank_entries(text);
}

auto train(const Settings& s, const distrib::ClusterFlags& flags, const distrib::SharedSecret& secret,
           distrib::Consistency consistency) -> int {
  const bool remote = s.data.find("://") != std::string::npos;
  distrib::IoPool waiting{remote ? 16U : 1U};
  const auto read = [&](const std::string& pattern) {
    const std::string files = s.data + "/" + pattern;
    if (remote) return distrib::tfrecords(remote_files(files, waiting)).schema(image_feature, label_feature);
    return distrib::tfrecords(files).schema(image_feature, label_feature);
  };
  const auto training = read(s.hold_out ? "train-0000[0-8]-of-00010" : "train-*");
  const auto evaluation = read(s.hold_out ? "train-00009-of-00010" : "test-*");
  auto rate = distrib::LearningRate{s.learning_rate};
  if (!consistency.is_synchronous())
    rate = distrib::Linear{
        .first = s.learning_rate, .last = 0, .steps = s.steps / std::max<std::uint64_t>(1, s.local_steps)};

  distrib::IoPool pool{flags.local() ? distrib::usable_cpus() : s.shards * s.replicas + 1};
  auto trainer = learner(s)
                     .with_data(training.shuffle(s.seed).batch(s.batch))
                     .with_placement(distrib::GreedyLoadBalancingStrategy{distrib::byte_size_load})
                     .with_partitioner(distrib::FixedShardsPartitioner{s.parts})
                     .with_consistency(consistency)
                     .with_updater(distrib::Momentum{
                         .learning_rate = rate, .momentum = s.momentum, .use_nesterov = s.local_steps != 0})
                     .with_hooks(distrib::StopAtStep{s.steps},
                                 distrib::SaveCheckpoint{.directory = s.checkpoints, .every_steps = s.save_every},
                                 distrib::WriteSummaries{s.out + "/events"},
                                 distrib::Evaluate{evaluation.batch(500), s.evaluate_every}, distrib::ShowProgress{},
                                 TrainJobReport{})
                     .with_wire_format(wire_format(s))
                     .with_object_stores(object_stores())
                     .with_seed(s.seed)
                     .with_local_mode({.workers = s.workers, .shards = s.shards, .changes = rank_changes(s)})
                     .with_replicas(s.replicas)
                     .with_cluster_mode(cluster_mode(s, flags, secret))
                     .build(pool, flags);
  const int code = trainer.run();
  if ((flags.local() || flags.is_chief()) && trainer.result().steps != 0)
    distrib::write_result_json(s.out + "/summary.json", trainer.result(), s.out + "/events", {}, object_stores());
  return code;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);
  const auto secret = distrib::SharedSecret::of_job();
  if (rest == std::vector<std::string>{"--probe"}) return probe(task.flags, secret);
  const Settings settings = read_flags(rest);
  if (settings.products) distrib::use_matmul_kernel(*settings.products);
  const auto run = [&](distrib::Consistency consistency) {
    return task.exit_code(train(settings, task.flags, secret, consistency));
  };
  if (settings.mode == "sync")
    return run(distrib::BulkSynchronousParallel{.replicas_to_aggregate = settings.replicas_to_aggregate});
  if (settings.mode == "async") return run(distrib::AsynchronousParallel{});
  return run(distrib::StaleSynchronousParallel{.staleness = settings.staleness});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
