// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/worker/worker_client.hpp>

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

// What the programs fan_benchmark and fan_cores_benchmark share: processes that end with their parent, parameter servers
// in such processes, and workers that give the same block for each contribution.

/// Returns the CPU seconds that a process has used.
inline auto cpu_seconds(::pid_t process) -> double {
  ::clockid_t clock{};
  ::timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw std::runtime_error{"cannot read the CPU time of a process"};
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Permits as many open files as the system allows: a process of this folder has thousands of connections.
inline void raise_file_limit() {
  ::rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

/// Lets this thread, and threads that it starts later, run on these CPUs only. Empty: on all.
inline void pin(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  ::cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) throw std::runtime_error{"cannot choose the CPUs of a process"};
}

/// Another process, which is killed when this object is destroyed or this process ends.
class FanProcess {
 public:
  /// `body` runs in the new process, and its result is the exit code. It may say one value to this process on the pipe
  /// that is its argument.
  template <class Body>
  explicit FanProcess(Body body) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error{"cannot make a pipe"};
    const ::pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error{"cannot start a process"};
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);  // the parent has ended before the signal was asked for
      ::_exit(run(body, pipe[1]));
    }
    ::close(pipe[1]);
    said_ = pipe[0];
  }
  FanProcess(const FanProcess&) = delete;
  auto operator=(const FanProcess&) -> FanProcess& = delete;
  ~FanProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(said_);
  }

  [[nodiscard]] auto pid() const -> ::pid_t { return pid_; }

  /// Returns what the process says, which is small. Throws if it says nothing within a minute.
  template <class Said>
  auto hear() const -> Said {
    Said said{};
    ::pollfd one{said_, POLLIN, 0};
    if (::poll(&one, 1, 60'000) != 1 || ::read(said_, &said, sizeof said) != static_cast<::ssize_t>(sizeof said))
      throw std::runtime_error{"a process did not start"};
    return said;
  }
  template <class Said>
  static auto say(int pipe, const Said& said) -> bool {
    return ::write(pipe, &said, sizeof said) == static_cast<::ssize_t>(sizeof said);
  }

 private:
  template <class Body>
  static auto run(Body& body, int pipe) -> int try {
    return body(pipe);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 70;
  }

  ::pid_t pid_ = -1;
  int said_ = -1;
};

/// A parameter server in its own process.
class FanServer {
 public:
  /// `threads`: of its pool; the last one is for files. `cpus`: see `pin`.
  FanServer(std::uint32_t index, const distrib::ClusterSpec& cluster, unsigned threads = 2,
            const std::vector<int>& cpus = {})
      : process_{[&](int pipe) {
          pin(cpus);
          distrib::IoPool io{threads};
          distrib::Server server{io, cluster, "ps", index, distrib::StandardUpdaters{}, {}};
          return FanProcess::say(pipe, server.port()) ? server.join() : 1;
        }},
        port_{process_.hear<std::uint16_t>()} {}

  [[nodiscard]] auto pid() const -> ::pid_t { return process_.pid(); }
  [[nodiscard]] auto port() const -> std::uint16_t { return port_; }

 private:
  FanProcess process_;
  std::uint16_t port_;
};

/// What a worker gives for each step: a block for each shard, and in a job with tables the rows that it pulls.
struct FanGift {
  std::vector<distrib::SharedBuffer> blocks;
  std::vector<distrib::WantedRows> rows;
};

/// Returns zeros for each shard of a job without tables.
inline auto dense_gift(const distrib::Job& job) -> FanGift {
  FanGift gift;
  for (const distrib::ShardLayout& layout : distrib::shard_layouts(job))
    gift.blocks.push_back(std::make_shared<distrib::AlignedBuffer>(layout.wire_block_bytes()));
  return gift;
}

/// What the workers of one process share. Set all members before the first worker is made.
struct FanWorkers {
  distrib::Job job;
  std::vector<std::uint16_t> ports;  // of the parameter servers
  distrib::CutSettings cuts;
  std::size_t replay_bytes = std::size_t{64} << 20;
  std::chrono::milliseconds lost_after{660'000};
  std::function<void(distrib::Rank, distrib::Step)> begun;  // a rank has the values for this step
  std::size_t left = 0;  // workers that have not ended
  int code = 0;
  asio::io_context context{1};

  /// Runs until all workers are done. Throws if a worker ends otherwise.
  void run() {
    context.run();
    if (code != 0) throw std::runtime_error{"a worker has ended with code " + std::to_string(code)};
  }
};

/// A worker that gives the same for each contribution.
struct FanWorker final : distrib::WorkerOwner {
  /// `takes`: how long it computes.
  FanWorker(FanWorkers& of, distrib::RankBlock ranks, const FanGift& gives, std::chrono::milliseconds takes)
      : fan{of}, rank{ranks.first}, gift{gives}, pause{of.context}, time{takes} {
    std::vector<distrib::Address> addresses;
    for (const std::uint16_t port : of.ports)
      addresses.push_back(distrib::Address::parse("127.0.0.1:" + std::to_string(port)));
    distrib::WorkerClientOptions options;
    options.lost_after = of.lost_after;
    options.worker.replay_budget_bytes = of.replay_bytes;
    options.worker.level = ranks.level;
    client = std::make_shared<distrib::WorkerClient>(of.context.get_executor(), of.job, ranks.first,
                                                     std::move(addresses), std::move(options), of.cuts, *this);
  }

  void prepare(distrib::Prepare work) override {
    asio::post(fan.context, [this, step = work.step] { client->prepared(step, gift.rows); });
  }
  void compute(distrib::Compute work, distrib::Step) override {
    fan.begun(rank, work.step);
    const auto give = [this, ticket = work.ticket](const std::error_code&) {
      client->computed(ticket, gift.blocks, gift.rows);
    };
    if (time == std::chrono::milliseconds{0}) return asio::post(fan.context, [give] { give({}); });
    pause.expires_after(time);
    pause.async_wait(give);
  }
  void saved(distrib::Step) override {}
  void ended(distrib::WorkerEnd end) override {
    if (end.code != 0)
      std::fprintf(stderr, "error: rank %u: %s: %s\n", rank, end.why.where.c_str(), end.why.code.message().c_str());
    if (end.code != 0) fan.code = end.code;
    if (--fan.left == 0 || end.code != 0) fan.context.stop();
  }

  FanWorkers& fan;
  distrib::Rank rank;
  FanGift gift;
  asio::steady_timer pause;
  std::chrono::milliseconds time;
  std::shared_ptr<distrib::WorkerClient> client;
};
