// SPDX-License-Identifier: Apache-2.0
// Measures parameter servers with many workers on a machine with many cores. Over 127.0.0.1: each of PS parameter
// servers is a process with two shards, on a pool of 3 threads (one is for files); WORKERS workers are in PROCESSES
// processes of one thread, and give a constant block at once. The servers are pinned to the first half of CORES CPUs and
// the worker processes to the other half. A contribution is a push to one shard and a pull from it.
//   rate     contributions a second, from their second step on for at least SECONDS and 10 steps. BODY: bytes of values
//            of each shard, or `rows`: 1000 rows of 16 floats from each shard, drawn by each worker once. Adds as a job
//            does by default: with dense values and more than 8 workers in the tree
//   sockets  the same for bare sockets: as many processes, threads and connections, UP bytes and then DOWN bytes back on
//            each connection, again when all servers have answered the worker
//   stop     the same for SECONDS; then while a worker, alone in its process, is stopped by SIGSTOP for 2 s; then for
//            SECONDS again. `ssp`: staleness 3. `backup`: a 32nd of the workers, at least one, are backup workers
//   kill     one server is killed by SIGKILL, and started again at once. It restores its last cut in DIRECTORY (a cut
//            each 20 steps). Times until the first and the last worker begin a step that needs the new process
// Everything ends with the first process, which ends after 10 minutes at the latest. Prints JSON.
// usage: fan_cores_benchmark rate CORES PS PROCESSES WORKERS SECONDS BODY
//        fan_cores_benchmark sockets CORES PS PROCESSES WORKERS SECONDS UP DOWN
//        fan_cores_benchmark stop CORES PS PROCESSES WORKERS SECONDS ssp|backup
//        fan_cores_benchmark kill CORES PS PROCESSES WORKERS DIRECTORY
#include "fan.hpp"
#include "rows_block.hpp"
#include "sockets.hpp"

#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/store/pull_rows.hpp>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t shards_per_task = 2;
constexpr std::size_t most_workers = 4096, most_processes = 64;
constexpr unsigned limit_seconds = 600;
constexpr auto wait_limit = 300s;  // of each wait

/// What the processes tell each other, in memory that they share.
struct Board {
  /// How far a worker is. Written by its process only.
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> begun{0};  // how often it had the values of a step
    std::atomic<std::uint64_t> step{0};  // which step that was last
    std::atomic<std::int64_t> reached{0};  // when it first had those of `target`, by Clock; 0: not yet
  };
  /// How many steps of the workers of a process took how long: `slot_of`.
  struct alignas(64) Times {
    static constexpr std::size_t slots_of_doubling = 16, slots = slots_of_doubling * 30;
    std::array<std::atomic<std::uint64_t>, slots> count{};

    void add(Clock::duration time) {
      const double us = std::max(1.0, std::chrono::duration<double, std::micro>(time).count());
      const auto slot = static_cast<std::size_t>(slots_of_doubling * std::log2(us));
      count[std::min(slot, slots - 1)].fetch_add(1, std::memory_order_relaxed);
    }
  };

  std::atomic<bool> measures{false};  // times are counted
  std::atomic<std::uint64_t> target{0};  // a step; 0: none
  std::array<Seat, most_workers> seats;
  std::array<Times, most_processes> times;

  [[nodiscard]] static auto make() -> Board& {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error{"cannot share memory between processes"};
    return *new (memory) Board;
  }

  void begin(std::size_t worker, std::uint64_t step) {
    Seat& seat = seats[worker];
    seat.begun.fetch_add(1, std::memory_order_relaxed);
    seat.step.store(step, std::memory_order_relaxed);
    const std::uint64_t wanted = target.load(std::memory_order_relaxed);
    if (wanted != 0 && step >= wanted && seat.reached.load(std::memory_order_relaxed) == 0)
      seat.reached.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }

  /// The longest time of the fastest 99 % of all steps, in ms; a time is known to 4 %.
  [[nodiscard]] auto p99_ms() const -> double {
    std::array<std::uint64_t, Times::slots> all{};
    std::uint64_t total = 0;
    for (const Times& of : times)
      for (std::size_t slot = 0; slot < all.size(); ++slot) {
        all[slot] += of.count[slot].load(std::memory_order_relaxed);
        total += of.count[slot].load(std::memory_order_relaxed);
      }
    std::size_t slot = 0;
    for (std::uint64_t seen = all[0]; seen * 100 < total * 99 && slot + 1 < all.size();) seen += all[++slot];
    return std::exp2(static_cast<double>(slot + 1) / Times::slots_of_doubling) / 1000;
  }
};

/// How the processes are laid out.
struct Plan {
  std::uint32_t cores = 0, ps = 0, processes = 0, workers = 0;
  std::vector<int> cpus;  // the first `cores` that this process may use

  /// The CPUs of a server. Neighbours share one if there are too few.
  [[nodiscard]] auto of_server(std::size_t server) const -> std::vector<int> {
    const std::size_t half = std::max<std::size_t>(1, cpus.size() / 2);
    const std::size_t first = server * half / ps, end = std::max(first + 1, (server + 1) * half / ps);
    return {cpus.begin() + static_cast<std::ptrdiff_t>(first), cpus.begin() + static_cast<std::ptrdiff_t>(end)};
  }
  [[nodiscard]] auto of_workers(std::size_t process) const -> std::vector<int> {
    const std::size_t half = cpus.size() / 2;
    return {cpus[half + process % (cpus.size() - half)]};
  }
  [[nodiscard]] auto shards() const -> std::uint32_t { return ps * shards_per_task; }
};

auto usable_cpu_numbers() -> std::vector<int> {
  ::cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) throw std::runtime_error{"cannot read which CPUs are usable"};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

using Processes = std::vector<std::unique_ptr<FanProcess>>;
using Servers = std::vector<std::unique_ptr<FanServer>>;

// The processes at each end.
struct Ends {
  std::vector<::pid_t> servers;
  std::vector<::pid_t> workers;
};

// Waits, and fails if a process ends meanwhile, or after `wait_limit`.
template <class Done>
void wait_until(const Ends& ends, const char* what, Done done) {
  const auto end = Clock::now() + wait_limit;
  while (!done()) {
    for (const auto* list : {&ends.servers, &ends.workers})
      for (const ::pid_t process : *list)
        if (::waitpid(process, nullptr, WNOHANG) != 0) throw std::runtime_error{"a process has ended"};
    if (Clock::now() > end) throw std::runtime_error{std::string{"waited too long for "} + what};
    std::this_thread::sleep_for(5ms);
  }
}

auto peak_mib(::pid_t process) -> double {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  throw std::runtime_error{"cannot read the memory of a process"};
}

// What is known at a moment.
struct Mark {
  Clock::time_point at;
  double steps = 0;  // of all workers together
  double servers = 0, workers = 0;  // CPU seconds
};

auto mark(const Board& board, const Ends& ends) -> Mark {
  Mark now{Clock::now()};
  for (const Board::Seat& seat : board.seats) now.steps += static_cast<double>(seat.begun.load());
  for (const ::pid_t process : ends.servers) now.servers += cpu_seconds(process);
  for (const ::pid_t process : ends.workers) now.workers += cpu_seconds(process);
  return now;
}

auto seconds_between(const Mark& first, const Mark& last) -> double {
  return std::chrono::duration<double>(last.at - first.at).count();
}

// Waits until each worker has begun step `step`, counted from the start of its process.
void wait_for_step(const Board& board, const Plan& plan, const Ends& ends, std::uint64_t step) {
  wait_until(ends, "the first steps", [&] {
    return std::all_of(board.seats.begin(), board.seats.begin() + plan.workers,
                       [&](const Board::Seat& seat) { return seat.begun.load() >= step; });
  });
}

// Measures for `seconds` and, if `least` is not 0, until all workers together have made so many steps.
auto window(const Board& board, const Ends& ends, double seconds, double least) -> std::pair<Mark, Mark> {
  const Mark first = mark(board, ends);
  Mark last = first;
  wait_until(ends, "steps", [&] {
    last = mark(board, ends);
    return seconds_between(first, last) >= seconds && last.steps - first.steps >= least;
  });
  return {first, last};
}

void print_rate(const Board& board, const Plan& plan, const Ends& ends, const std::pair<Mark, Mark>& marks,
                const BareSizes& sizes) {
  const auto& [first, last] = marks;
  const double seconds = seconds_between(first, last);
  const double contributions = (last.steps - first.steps) * plan.shards();
  double peak = 0;
  for (const ::pid_t process : ends.servers) peak = std::max(peak, peak_mib(process));
  std::printf(
      "{\"per_s\": %.3f, \"gb_s\": %.6f, \"p99_ms\": %.4f, \"ps_us\": %.4f, \"worker_us\": %.4f, "
      "\"ps_mib\": %.2f, \"up\": %zu, \"down\": %zu}\n",
      contributions / seconds, 1e-9 * contributions * static_cast<double>(sizes.up + sizes.down) / seconds,
      board.p99_ms(), 1e6 * (last.servers - first.servers) / contributions,
      1e6 * (last.workers - first.workers) / contributions, peak, sizes.up, sizes.down);
}

// Measures a rate, and prints it.
void measure_rate(Board& board, const Plan& plan, const Ends& ends, double seconds, const BareSizes& sizes) {
  wait_for_step(board, plan, ends, 2);
  board.measures = true;
  print_rate(board, plan, ends, window(board, ends, seconds, 10.0 * plan.workers), sizes);
}

auto make_job(const Plan& plan, const std::string& body) -> distrib::Job {
  distrib::Job job;
  job.tasks = plan.ps;
  job.shards_per_task = shards_per_task;
  job.ranks = plan.workers;
  job.total_steps = std::uint64_t{1} << 40;  // it is killed before
  job.cut_interval = 100;
  job.data = "none";
  job.updater = "sgd " + distrib::Sgd{.learning_rate = 0.01F}.describe();
  if (body == "rows") {
    job.tables = {{.name = "words", .dim = 16, .rows = 0, .initializer = distrib::ConstantInitializer{}}};
    return job;
  }
  if (plan.workers > distrib::most_ranks_in_order) job.reduction = distrib::ReductionOrder::tree;
  const auto elements = static_cast<std::int64_t>(std::stoul(body) / sizeof(float));
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
    job.variables.push_back({"v" + std::to_string(shard), distrib::DType::float32, {elements}});
    job.parts.push_back({shard, distrib::Slice::whole({elements}), shard});
  }
  return job;
}

// 1000 rows from each shard, out of some 131 000.
auto rows_gift(const distrib::Job& job, distrib::Rank rank) -> FanGift {
  constexpr std::size_t rows = 1000;
  const std::uint64_t numbers = std::uint64_t{1} << 17;
  const std::vector<distrib::ShardLayout> layouts = distrib::shard_layouts(job);
  FanGift gift;
  for (const distrib::ShardLayout& layout : layouts) {
    std::mt19937_64 random{rank};
    std::vector<std::uint64_t> keys;
    while (keys.size() < rows) {
      while (keys.size() < rows) {
        const std::uint64_t key = (random() % (numbers * layouts.size()) + 1) * 0x9E37'79B9'7F4A'7C15;
        if (layout.tables()[0].owns(key)) keys.push_back(key);
      }
      std::ranges::sort(keys);
      keys.erase(std::ranges::unique(keys).begin(), keys.end());
    }
    const distrib::PullRows wanted{{keys}};
    std::vector<std::byte> bytes;
    distrib::append_pull_rows(wanted, bytes);
    auto request = std::make_shared<distrib::AlignedBuffer>(bytes.size());
    std::ranges::copy(bytes, request->data());
    gift.rows.push_back({std::move(request), layout.wire_block_bytes() + distrib::answer_bytes(layout, wanted)});
    gift.blocks.push_back(rows_block(layout, std::move(keys)));
  }
  return gift;
}

auto gift_of(const distrib::Job& job, distrib::Rank rank) -> FanGift {
  return job.tables.empty() ? dense_gift(job) : rows_gift(job, rank);
}

// Bytes of a contribution, without heads.
auto sizes_of(const distrib::Job& job) -> BareSizes {
  const FanGift gift = gift_of(job, 0);
  BareSizes sizes{gift.blocks[0]->size(), distrib::ShardLayout{job, 0}.wire_block_bytes()};
  if (!gift.rows.empty()) sizes = {sizes.up + gift.rows[0].keys->size(), gift.rows[0].answer_bytes};
  return sizes;
}

// What the workers of one process do.
struct Crew {
  std::size_t process = 0;
  std::vector<distrib::Rank> ranks;
};

auto work(Board& board, const Plan& plan, const Crew& crew, const distrib::Job& job,
          const std::vector<std::uint16_t>& ports, const std::string& directory) -> int {
  pin(plan.of_workers(crew.process));
  FanWorkers fan;
  fan.job = job;
  fan.ports = ports;
  fan.cuts.directory = directory;
  fan.lost_after = 120s;
  fan.left = crew.ranks.size();
  std::vector<Clock::time_point> since(plan.workers);
  fan.begun = [&](distrib::Rank rank, distrib::Step step) {
    const auto now = Clock::now();
    if (board.measures.load(std::memory_order_relaxed) && since[rank] != Clock::time_point{})
      board.times[crew.process].add(now - since[rank]);
    since[rank] = now;
    board.begin(rank, step);
  };
  const FanGift dense = job.tables.empty() ? dense_gift(job) : FanGift{};
  // Contributions share memory, so that keeping those of two cut intervals costs nothing.
  std::size_t bytes = 0;
  for (const auto& block : gift_of(job, 0).blocks) bytes += block->size();
  fan.replay_bytes = std::max(fan.replay_bytes, 2 * (job.cut_interval + 8) * bytes);
  std::vector<std::unique_ptr<FanWorker>> all;
  for (const distrib::Rank rank : crew.ranks)
    all.push_back(std::make_unique<FanWorker>(fan, distrib::RankBlock{rank},
                                              job.tables.empty() ? dense : rows_gift(job, rank), 0ms));
  for (const auto& worker : all) worker->client->start();
  fan.run();
  return 0;
}

// A job that runs: its servers and its workers. If `alone`, rank 0 has a process of its own, the first one.
struct Running {
  Running(Board& shared, const Plan& of, const distrib::Job& runs, const std::string& directory, bool alone)
      : plan{of},
        cluster{{"ps", std::vector<std::string>(of.ps, "127.0.0.1:0")},
                {"worker", std::vector<std::string>(of.workers, "127.0.0.1:1")}} {
    std::vector<std::uint16_t> ports;
    for (std::uint32_t i = 0; i < plan.ps; ++i) {
      servers.push_back(std::make_unique<FanServer>(i, cluster, shards_per_task + 1, plan.of_server(i)));
      ports.push_back(servers.back()->port());
    }
    std::vector<Crew> crews(plan.processes + (alone ? 1 : 0));
    for (std::size_t i = 0; i < crews.size(); ++i) crews[i].process = i;
    for (distrib::Rank rank = 0; rank < plan.workers; ++rank)
      crews[alone ? (rank == 0 ? 0 : 1 + rank % plan.processes) : rank % plan.processes].ranks.push_back(rank);
    for (const Crew& crew : crews)
      if (!crew.ranks.empty())
        workers.push_back(
            std::make_unique<FanProcess>([&](int) { return work(shared, plan, crew, runs, ports, directory); }));
  }

  [[nodiscard]] auto ends() const -> Ends {
    Ends all;
    for (const auto& server : servers) all.servers.push_back(server->pid());
    for (const auto& worker : workers) all.workers.push_back(worker->pid());
    return all;
  }

  const Plan& plan;
  distrib::ClusterSpec cluster;
  Servers servers;
  Processes workers;
};

void rate(Board& board, const Plan& plan, double seconds, const std::string& body) {
  const distrib::Job job = make_job(plan, body);
  const Running running{board, plan, job, {}, false};
  measure_rate(board, plan, running.ends(), seconds, sizes_of(job));
}

void sockets(Board& board, const Plan& plan, double seconds, const BareSizes& sizes) {
  using Ports = std::array<std::uint16_t, shards_per_task>;
  Processes servers, workers;
  std::vector<std::uint16_t> ports;
  for (std::uint32_t i = 0; i < plan.ps; ++i) {
    servers.push_back(std::make_unique<FanProcess>([&](int pipe) {
      pin(plan.of_server(i));
      std::array<std::unique_ptr<BareSockets>, shards_per_task> all;
      Ports free{};
      for (std::size_t shard = 0; shard < all.size(); ++shard) {
        all[shard] = std::make_unique<BareSockets>(sizes);
        free[shard] = all[shard]->listen();
      }
      if (!FanProcess::say(pipe, free)) return 1;
      std::vector<std::jthread> threads;
      for (const auto& one : all) threads.emplace_back([&one] { one->run(); });
      return 0;
    }));
    for (const std::uint16_t port : servers.back()->hear<Ports>()) ports.push_back(port);
  }
  for (std::uint32_t process = 0; process < plan.processes && process < plan.workers; ++process)
    workers.push_back(std::make_unique<FanProcess>([&, process](int) {
      pin(plan.of_workers(process));
      BareSockets all{sizes};
      std::vector<std::size_t> ranks;
      for (std::size_t rank = process; rank < plan.workers; rank += plan.processes) ranks.push_back(rank);
      for (std::size_t client = 0; client < ranks.size(); ++client)
        for (const std::uint16_t port : ports) all.connect(port, client);
      std::vector<Clock::time_point> since(ranks.size(), Clock::now());
      for (std::size_t client = 0; client < ranks.size(); ++client) all.push(client);
      all.run([&](std::size_t client) {
        const auto now = Clock::now();
        if (board.measures.load(std::memory_order_relaxed)) board.times[process].add(now - since[client]);
        since[client] = now;
        board.begin(ranks[client], 0);
        all.push(client);
      });
      return 1;
    }));
  Ends ends;
  for (const auto& server : servers) ends.servers.push_back(server->pid());
  for (const auto& worker : workers) ends.workers.push_back(worker->pid());
  measure_rate(board, plan, ends, seconds, sizes);
}

constexpr const char* middle_body = "65536";  // of the runs in which a process fails

void stop(Board& board, const Plan& plan, double seconds, const std::string& mode) {
  distrib::Job job = make_job(plan, middle_body);
  job.reduction = distrib::ReductionOrder::rank_order;
  if (mode == "ssp") {
    job.consistency = distrib::StaleSynchronousParallel{.staleness = 3};
    job.cut_interval *= plan.workers;
  } else if (mode == "backup") {
    const std::uint32_t backups = std::max(1U, plan.workers / 32);
    job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = plan.workers - backups};
  } else {
    throw std::runtime_error{"the mode is ssp or backup"};
  }
  const Running running{board, plan, job, {}, true};
  const Ends ends = running.ends();
  wait_for_step(board, plan, ends, 2);
  const auto per_second = [&](double window_seconds) {
    const auto [first, last] = window(board, ends, window_seconds, 0);
    return (last.steps - first.steps) * plan.shards() / seconds_between(first, last);
  };
  const double before = per_second(seconds);
  ::kill(ends.workers[0], SIGSTOP);
  const double meanwhile = per_second(2);
  ::kill(ends.workers[0], SIGCONT);
  const double after = per_second(seconds);
  std::printf("{\"before\": %.3f, \"meanwhile\": %.3f, \"after\": %.3f}\n", before, meanwhile, after);
}

void kill_server(Board& board, const Plan& plan, const std::string& directory) {
  distrib::Job job = make_job(plan, middle_body);
  job.cut_interval = 20;
  Running running{board, plan, job, directory, false};
  wait_for_step(board, plan, running.ends(), 2 * job.cut_interval + 5);

  const std::uint16_t port = running.servers[0]->port();
  const auto killed = Clock::now();
  running.servers[0].reset();
  std::uint64_t newest = 0;
  for (const Board::Seat& seat : board.seats) newest = std::max(newest, seat.step.load());
  // Values of `newest` + 1 may still be on their way. Those of the step after need contributions to it.
  board.target = newest + 2;
  std::vector<std::string> addresses(plan.ps, "127.0.0.1:0");
  addresses[0] = "127.0.0.1:" + std::to_string(port);
  running.cluster =
      distrib::ClusterSpec{{"ps", addresses}, {"worker", std::vector<std::string>(plan.workers, "127.0.0.1:1")}};
  running.servers[0] = std::make_unique<FanServer>(0, running.cluster, shards_per_task + 1, plan.of_server(0));
  const auto listens = Clock::now();
  wait_until(running.ends(), "the next step of each worker", [&] {
    return std::all_of(board.seats.begin(), board.seats.begin() + plan.workers,
                       [](const Board::Seat& seat) { return seat.reached.load() != 0; });
  });
  std::int64_t first = board.seats[0].reached, last = first;
  for (std::size_t worker = 0; worker < plan.workers; ++worker) {
    first = std::min(first, board.seats[worker].reached.load());
    last = std::max(last, board.seats[worker].reached.load());
  }
  const auto since = [&](Clock::time_point at) { return std::chrono::duration<double>(at - killed).count(); };
  const auto at = [](std::int64_t count) { return Clock::time_point{Clock::duration{count}}; };
  std::printf("{\"listens_s\": %.4f, \"first_s\": %.4f, \"last_s\": %.4f}\n", since(listens), since(at(first)),
              since(at(last)));
}

auto number_of(const std::string& text) -> std::uint32_t { return static_cast<std::uint32_t>(std::stoul(text)); }

auto measure(const std::vector<std::string>& words) -> int {
  const std::string what = words.empty() ? "" : words[0];
  const std::size_t expected = what == "rate" || what == "stop" ? 7 : what == "sockets" ? 8 : what == "kill" ? 6 : 0;
  if (expected == 0 || words.size() != expected)
    throw std::runtime_error{"usage: fan_cores_benchmark rate|sockets|stop|kill CORES PS PROCESSES WORKERS ..."};
  Plan plan{number_of(words[1]), number_of(words[2]), number_of(words[3]), number_of(words[4]), usable_cpu_numbers()};
  if (plan.cpus.size() < std::max(2U, plan.cores)) {
    std::fprintf(stderr, "error: %u cores were asked for, and %zu are usable\n", plan.cores, plan.cpus.size());
    return 77;
  }
  plan.cpus.resize(std::max(2U, plan.cores));
  if (plan.ps == 0 || plan.processes == 0 || plan.processes >= most_processes || plan.workers < 2 ||
      plan.workers > most_workers)
    throw std::runtime_error{"no such number of processes or of workers"};
  raise_file_limit();
  ::alarm(limit_seconds);  // ends this process, and the others with it
  Board& board = Board::make();
  if (what == "rate") rate(board, plan, std::stod(words[5]), words[6]);
  else if (what == "sockets") sockets(board, plan, std::stod(words[5]), {number_of(words[6]), number_of(words[7])});
  else if (what == "stop") stop(board, plan, std::stod(words[5]), words[6]);
  else kill_server(board, plan, words[5]);
  return 0;
}

}  // namespace

auto main(int count, char** words) -> int try {
  return measure({words + 1, words + count});
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
