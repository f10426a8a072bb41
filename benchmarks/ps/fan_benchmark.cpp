// SPDX-License-Identifier: Apache-2.0
// Measures what a contribution costs a parameter server as the number of its workers grows, and a worker as the number
// of its parameter servers grows. Over 127.0.0.1: each ps is a process with one shard; all workers are in one process,
// and give a constant block at once. CPU time is that of a contribution (a push and a pull) at one shard, from the
// second tenth of the steps to the end. `ssp` has a staleness of 2, and rank 0 takes 20 ms for each contribution.
// `tree`: synchronous, and added in the tree. With `sync-mixed` and `tree-mixed` rank r takes (37 r mod WORKERS) ms for
// each contribution, so contributions arrive in another order than that of the ranks. BLOCK, a power of two: each worker
// serves so many ranks, and pushes their sum; then WORKERS is the number of ranks, and a contribution that of a rank.
// Of the first ps, if synchronous, also the most MiB of contributions that have waited at one moment, and the mean time in
// ms from the arrival of the last contribution of a step to its answer, without writing to the sockets.
// Prints JSON. usage: fan_benchmark PS WORKERS STEPS BYTES sync|ssp|async|tree|sync-mixed|tree-mixed [BLOCK]
#include "fan.hpp"

#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/worker/ask_status.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// CPU seconds of all workers and of all servers.
struct CpuMark {
  double workers = 0;
  double servers = 0;
};

auto mark(const std::vector<std::unique_ptr<FanServer>>& servers) -> CpuMark {
  CpuMark now{cpu_seconds(::getpid()), 0};
  for (const auto& server : servers) now.servers += cpu_seconds(server->pid());
  return now;
}

auto number_of(const char* text) -> std::uint32_t { return static_cast<std::uint32_t>(std::stoul(text)); }

auto measure(int count, char** words) -> int {
  if (count != 6 && count != 7)
    throw std::runtime_error{
        "usage: fan_benchmark PS WORKERS STEPS BYTES sync|ssp|async|tree|sync-mixed|tree-mixed [BLOCK]"};
  const std::uint32_t ps = number_of(words[1]);
  const std::uint32_t workers = number_of(words[2]);
  const distrib::Step steps = number_of(words[3]);
  const auto elements = static_cast<std::int64_t>(number_of(words[4]) / sizeof(float));
  std::string mode = words[5];
  const bool mixed = mode.ends_with("-mixed");
  if (mixed) mode.resize(mode.size() - 6);
  const std::uint32_t level = count == 7 ? static_cast<std::uint32_t>(std::countr_zero(number_of(words[6]))) : 0;
  raise_file_limit();

  FanWorkers fan;
  const distrib::ClusterSpec cluster{{"ps", std::vector<std::string>(ps, "127.0.0.1:0")},
                                     {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
  std::vector<std::unique_ptr<FanServer>> servers;
  for (std::uint32_t i = 0; i < ps; ++i) {
    servers.push_back(std::make_unique<FanServer>(i, cluster));
    fan.ports.push_back(servers.back()->port());
  }
  distrib::Job& job = fan.job;
  const bool sync = mode == "sync" || mode == "tree";
  if (mode == "tree") job.reduction = distrib::ReductionOrder::tree;
  job.tasks = ps;
  job.ranks = workers;
  job.total_steps = sync ? steps : steps * workers;
  job.cut_interval = std::min<distrib::Step>(steps, 100) * (sync ? 1 : workers);
  for (std::uint32_t i = 0; i < ps; ++i) {
    job.variables.push_back({"v" + std::to_string(i), distrib::DType::float32, {elements}});
    job.parts.push_back({i, distrib::Slice::whole({elements}), i});
  }
  job.updater = "sgd " + distrib::Sgd{.learning_rate = 0.01F}.describe();
  job.data = "none";
  if (mode == "ssp") job.consistency = distrib::StaleSynchronousParallel{.staleness = 2};
  if (mode == "async") job.consistency = distrib::AsynchronousParallel{};
  const FanGift gift = dense_gift(job);
  const distrib::Step from = steps / 10 + 1;
  std::size_t begun = 0, reached = 0;  // workers that have begun step `from`, and the last step
  CpuMark first, last;
  distrib::ShardStatus status;
  fan.left = workers >> level;
  fan.begun = [&, total = fan.left](distrib::Rank, distrib::Step step) {
    if (step == from && ++begun == 1) first = mark(servers);
    if (step != steps || ++reached != total) return;
    last = mark(servers);
    status = distrib::ask_status(distrib::Address{"127.0.0.1", fan.ports.front()}).front();
  };

  std::vector<std::unique_ptr<FanWorker>> all;
  for (distrib::RankBlock rank{0, level}; rank.first < workers; rank.first = rank.end(workers)) {
    const std::chrono::milliseconds takes{mixed                              ? 37 * rank.first % workers
                                          : mode == "ssp" && rank.first == 0 ? 20
                                                                             : 0};
    all.push_back(std::make_unique<FanWorker>(fan, rank, gift, takes));
  }
  for (const auto& worker : all) worker->client->start();
  fan.run();
  const double contributions = static_cast<double>(workers) * static_cast<double>(steps - from) * ps;
  std::printf("{\"ps_us\": %.3f, \"worker_us\": %.3f, \"waiting_mib\": %.3f, \"completion_ms\": %.4f}\n",
              1e6 * (last.servers - first.servers) / contributions,
              1e6 * (last.workers - first.workers) / contributions,
              static_cast<double>(status.most_waiting_bytes) / (1 << 20),
              1e3 * std::chrono::duration<double>{status.completion_time}.count() /
                  static_cast<double>(std::max<std::uint64_t>(status.completions, 1)));
  std::fflush(stdout);
  for (auto& worker : all) worker->client.reset();
  return 0;
}

}  // namespace

auto main(int count, char** words) -> int {
  try {
    return measure(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
