// SPDX-License-Identifier: Apache-2.0
// Measures what a contribution costs a parameter server as the number of its workers grows, and a worker as the number
// of its parameter servers grows. Over 127.0.0.1: each ps is a process with one shard; all workers are in one process,
// and give a constant block at once. CPU time is that of a contribution (a push and a pull) at one shard, from the
// second tenth of the steps to the end. `ssp` has a staleness of 2, and rank 0 takes 20 ms for each contribution.
// `tree`: synchronous, and added in the tree. BLOCK, a power of two: each worker serves so many ranks, and pushes their
// sum; then WORKERS is the number of ranks, and a contribution that of a rank.
// Prints JSON. usage: fan_benchmark PS WORKERS STEPS BYTES sync|ssp|async|tree [BLOCK]
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/worker/worker_client.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Returns the CPU seconds that a process has used.
auto cpu_seconds(::pid_t process) -> double {
  ::clockid_t clock{};
  ::timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw std::runtime_error{"cannot read the CPU time of a process"};
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A parameter server in its own process, which is killed when this object is destroyed or this process ends.
class FanServer {
 public:
  FanServer(std::uint32_t index, const distrib::ClusterSpec& cluster) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error{"cannot make a pipe"};
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error{"cannot start a process"};
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      distrib::IoPool io{2};
      distrib::Server server{io, cluster, "ps", index, distrib::StandardUpdaters{}, {}};
      const std::uint16_t port = server.port();
      ::_exit(::write(pipe[1], &port, sizeof port) == sizeof port ? server.join() : 1);
    }
    ::close(pipe[1]);
    const bool told = ::read(pipe[0], &port_, sizeof port_) == sizeof port_;
    ::close(pipe[0]);
    if (!told) throw std::runtime_error{"a parameter server did not start"};
  }
  FanServer(const FanServer&) = delete;
  auto operator=(const FanServer&) -> FanServer& = delete;
  ~FanServer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] auto pid() const -> ::pid_t { return pid_; }
  [[nodiscard]] auto port() const -> std::uint16_t { return port_; }

 private:
  ::pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

/// CPU seconds of all workers and of all servers.
struct CpuMark {
  double workers = 0;
  double servers = 0;
};

/// What all workers share.
struct Fan {
  distrib::Job job;
  distrib::Step from = 0;
  distrib::Step to = 0;
  std::vector<distrib::SharedBuffer> blocks;
  std::vector<std::unique_ptr<FanServer>> servers;
  std::size_t workers = 0;
  std::size_t begun = 0, reached = 0, left = 0;  // workers that have begun step `from`, have begun `to`, have not ended
  int code = 0;
  CpuMark first, last;
  asio::io_context context{1};

  auto mark() -> CpuMark {
    CpuMark now{cpu_seconds(::getpid()), 0};
    for (const auto& server : servers) now.servers += cpu_seconds(server->pid());
    return now;
  }
};

/// A worker that gives the same block for each contribution.
struct FanWorker final : distrib::WorkerOwner {
  FanWorker(Fan& of, distrib::RankBlock ranks, std::chrono::milliseconds takes)
      : fan{of}, pause{of.context}, time{takes} {
    std::vector<distrib::Address> addresses;
    for (const auto& server : of.servers)
      addresses.push_back(distrib::Address::parse("127.0.0.1:" + std::to_string(server->port())));
    distrib::WorkerClientOptions options;
    options.worker.replay_budget_bytes = std::size_t{64} << 20;
    options.worker.level = ranks.level;
    client =
        std::make_shared<distrib::WorkerClient>(of.context.get_executor(), of.job, ranks.first, std::move(addresses),
                                                std::move(options), distrib::CutSettings{}, *this);
  }

  void prepare(distrib::Prepare) override {}
  void compute(distrib::Compute work, distrib::Step) override {
    if (work.step == fan.from && ++fan.begun == 1) fan.first = fan.mark();
    if (work.step == fan.to && ++fan.reached == fan.workers) fan.last = fan.mark();
    const auto give = [this, ticket = work.ticket](const std::error_code&) { client->computed(ticket, fan.blocks); };
    if (time == 0ms) return asio::post(fan.context, [give] { give({}); });
    pause.expires_after(time);
    pause.async_wait(give);
  }
  void saved(distrib::Step) override {}
  void ended(distrib::WorkerEnd end) override {
    fan.code = std::max(fan.code, end.code);
    if (--fan.left == 0) fan.context.stop();
  }

  Fan& fan;
  asio::steady_timer pause;
  std::chrono::milliseconds time;
  std::shared_ptr<distrib::WorkerClient> client;
};

auto number_of(const char* text) -> std::uint32_t { return static_cast<std::uint32_t>(std::stoul(text)); }

auto measure(int count, char** words) -> int {
  if (count != 6 && count != 7)
    throw std::runtime_error{"usage: fan_benchmark PS WORKERS STEPS BYTES sync|ssp|async|tree [BLOCK]"};
  const std::uint32_t ps = number_of(words[1]);
  const std::uint32_t workers = number_of(words[2]);
  const distrib::Step steps = number_of(words[3]);
  const auto elements = static_cast<std::int64_t>(number_of(words[4]) / sizeof(float));
  const std::string mode = words[5];
  const std::uint32_t level = count == 7 ? static_cast<std::uint32_t>(std::countr_zero(number_of(words[6]))) : 0;
  ::rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);

  Fan fan;
  const distrib::ClusterSpec cluster{{"ps", std::vector<std::string>(ps, "127.0.0.1:0")},
                                     {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
  for (std::uint32_t i = 0; i < ps; ++i) fan.servers.push_back(std::make_unique<FanServer>(i, cluster));
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
  for (const distrib::ShardLayout& layout : distrib::shard_layouts(job))
    fan.blocks.push_back(std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes()));
  fan.from = steps / 10 + 1;
  fan.to = steps;
  fan.left = fan.workers = workers >> level;

  std::vector<std::unique_ptr<FanWorker>> all;
  for (distrib::RankBlock rank{0, level}; rank.first < workers; rank.first = rank.end(workers))
    all.push_back(std::make_unique<FanWorker>(fan, rank, mode == "ssp" && rank.first == 0 ? 20ms : 0ms));
  for (const auto& worker : all) worker->client->start();
  fan.context.run();
  if (fan.code != 0) throw std::runtime_error{"a worker has ended with code " + std::to_string(fan.code)};
  const double contributions = static_cast<double>(workers) * static_cast<double>(fan.to - fan.from) * ps;
  std::printf("{\"ps_us\": %.3f, \"worker_us\": %.3f}\n", 1e6 * (fan.last.servers - fan.first.servers) / contributions,
              1e6 * (fan.last.workers - fan.first.workers) / contributions);
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
