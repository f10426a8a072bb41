// SPDX-License-Identifier: Apache-2.0
// A parameter server with dense variables and tables of both kinds, under the highest load that its workers can make,
// for any time: the memory of the server does not grow, and the memory of each worker stays below its limit. Server and
// workers are processes of their own, as in production.
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/worker/worker_client.hpp>
#include <distrib/sim/dice.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr Rank workers = 3;
constexpr std::uint64_t table_keys = 1 << 15;  // few, so that soon there are no new rows
constexpr std::size_t keys_of_batch = 250;  // for each table
constexpr std::size_t replay_budget_mib = 64;  // for a worker; its contributions between two cuts need less than half

// --- processes ---

void tell(const std::string& who, const Error& why) {
  if (why) std::fprintf(stderr, "%s: %s: %s\n", who.c_str(), why.code.message().c_str(), why.where.c_str());
}

/// Runs `work` in a process of its own, whose exit code is the result of `work`. The process dies with its owner.
/// `work` gets a descriptor to write to; the owner reads it.
class Process {
 public:
  explicit Process(const std::function<int(int)>& work) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
    std::fflush(stdout);  // otherwise both processes would write what is buffered
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error{errno, std::generic_category(), "fork"};
    said_ = pipe[pid_ == 0 ? 1 : 0];
    ::close(pipe[pid_ == 0 ? 0 : 1]);
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      ::_exit(work(said_));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "process %d: %s\n", static_cast<int>(::getpid()), error.what());
      ::_exit(70);
    }
  }
  Process(const Process&) = delete;
  ~Process() {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
    if (pid_ != 0) ::waitpid(pid_, nullptr, 0);
    ::close(said_);
  }

  /// Returns a descriptor that is readable when the process has written something, and when it has ended.
  [[nodiscard]] auto said() const -> int { return said_; }

  void ask_to_end() const { ::kill(pid_, SIGTERM); }

  /// Waits for its end; returns its exit code, or 128 plus the signal that ended it.
  [[nodiscard]] auto exit_code() -> int {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  [[nodiscard]] auto resident_mib() const -> double {
    std::ifstream file{"/proc/" + std::to_string(pid_) + "/statm"};
    double all = 0;
    double resident = 0;
    file >> all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

 private:
  ::pid_t pid_ = 0;
  int said_ = -1;
};

/// A number that several processes share.
class SharedCounter {
 public:
  SharedCounter() {
    void* const memory = ::mmap(nullptr, sizeof *count_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
    count_ = new (memory) std::atomic<std::uint64_t>{0};
  }
  SharedCounter(const SharedCounter&) = delete;
  ~SharedCounter() { ::munmap(count_, sizeof *count_); }

  auto operator*() const -> std::atomic<std::uint64_t>& { return *count_; }

 private:
  std::atomic<std::uint64_t>* count_ = nullptr;
};

// --- the job ---

auto make_job(Consistency consistency, Step steps) -> Job {
  Job job;
  job.seed = 3;
  job.shards_per_task = 2;
  job.ranks = workers;
  job.total_steps = steps;
  job.cut_interval = std::min<Step>(1200, steps / 3);
  job.updater = "adagrad " + Adagrad{.learning_rate = 0.01F}.describe();
  job.updaters_of = {{"dense/", "sgd " + Sgd{.learning_rate = 0.01F}.describe()}};
  job.consistency = consistency;
  job.variables = {{"dense/weights", DType::float32, {64, 128}, UniformInitializer{}},
                   {"dense/bias", DType::float32, {1024}, UniformInitializer{}}};
  job.parts = {{0, Slice::along({64, 128}, 0, 0, 32), 0},
               {0, Slice::along({64, 128}, 0, 32, 32), 1},
               {1, Slice::whole({1024}), 1}};
  job.tables = {{.name = "numbered", .dim = 16, .rows = table_keys}, {.name = "any", .dim = 16}};
  return job;
}

/// Returns one of `table_keys` keys; in the table of arbitrary keys it has 64 bits.
auto key_of(const TableInfo& table, std::uint64_t number) -> std::uint64_t {
  return table.any_key() ? (number + 1) * 0x9E37'79B9'7F4A'7C15 : number;
}

/// A worker without a model: it pulls all values towards zero.
class Worker final : public WorkerOwner {
 public:
  Worker(asio::io_context& context, const Job& job, Rank rank, const Address& server, const CutSettings& cuts,
         const SharedCounter& count)
      : context_{context},
        job_{job},
        layouts_{shard_layouts(job)},
        rank_{rank},
        count_{count},
        pools_(job.shards()),
        batches_{{{job_, layouts_}, {job_, layouts_}}} {
    WorkerClientOptions options;
    options.start_within = options.lost_after = 30s;
    options.worker.replay_budget_bytes = replay_budget_mib << 20;
    client_ =
        std::make_shared<WorkerClient>(context.get_executor(), job, rank, std::vector{server}, options, cuts, *this);
  }

  /// Does its part of the job; returns the exit code.
  auto run() -> int {
    const Signals signals{context_, [this] { client_->stop(); }};
    client_->start();
    context_.run();
    tell("worker " + std::to_string(rank_), end_.why);
    return end_.code;
  }

 private:
  void prepare(Prepare work) override {
    asio::post(context_, [this, work] { client_->prepared(work.step, wanted(work.step)); });
  }

  void compute(Compute work, Step) override {
    asio::post(context_, [this, work = std::move(work)] {
      auto blocks = contribution(work);
      ++*count_;
      client_->computed(work.ticket, std::move(blocks), wanted(work.step + 1));
    });
  }

  void saved(Step) override {}

  void ended(WorkerEnd end) override {
    end_ = std::move(end);
    asio::post(context_, [this] { context_.stop(); });
  }

  // Returns the rows of a step. Its keys are drawn from the step, so that a step that is computed again has the same
  // keys.
  auto wanted(Step step) -> std::vector<WantedRows> {
    sim::Dice dice{step * workers + rank_};
    std::vector<std::vector<std::uint64_t>> lookups(job_.tables.size());
    for (std::size_t table = 0; table < lookups.size(); ++table)
      for (std::size_t i = 0; i < keys_of_batch; ++i)
        lookups[table].push_back(key_of(job_.tables[table], dice.below(table_keys)));
    BatchKeys& batch = batches_[step % 2];
    batch.find(lookups, {});
    return batch.wanted();
  }

  auto contribution(const Compute& work) -> std::vector<SharedBuffer> {
    const BatchKeys& batch = batches_[work.step % 2];
    std::vector<std::shared_ptr<AlignedBuffer>> blocks;
    for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
      blocks.push_back(pools_[shard].take());
      batch.begin(shard, *blocks.back());
      // The pulled values start with the dense block, like the contribution. The gradient of half the square of a value
      // is the value.
      std::copy_n(work.values[shard]->data(), layouts_[shard].block_bytes(), blocks.back()->data());
    }
    for (std::size_t table = 0; table < job_.tables.size(); ++table) {
      rows_.resize(batch.rows(table) * job_.tables[table].dim);
      batch.collect(work.values, table, rows_.data());
      batch.deal_gradients(blocks, table, rows_.data());
    }
    return {blocks.begin(), blocks.end()};
  }

  asio::io_context& context_;
  const Job& job_;
  std::vector<ShardLayout> layouts_;
  Rank rank_;
  const SharedCounter& count_;
  std::vector<BlockPool> pools_;
  std::array<BatchKeys, 2> batches_;  // for this step and the next one
  std::vector<float> rows_;
  WorkerEnd end_;
  std::shared_ptr<WorkerClient> client_;
};

/// One parameter server and its workers, each a process.
class Cluster {
 public:
  explicit Cluster(const Job& job) : job_{job}, server_{[](int say) { return serve(say); }} {
    std::uint16_t port = 0;
    if (::read(server_.said(), &port, sizeof port) != sizeof port) throw std::runtime_error{"no parameter server"};
    const CutSettings cuts{.directory = (directory_ / "cuts").string()};
    for (Rank rank = 0; rank < workers; ++rank)
      workers_.push_back(std::make_unique<Process>([=, this](int) { return work(rank, port, cuts); }));
  }

  [[nodiscard]] auto server() -> Process& { return server_; }
  [[nodiscard]] auto worker(Rank rank) -> Process& { return *workers_[rank]; }

  /// Returns the number of contributions that all ranks have made so far.
  [[nodiscard]] auto contributions() const -> std::uint64_t { return *count_; }

  /// Waits until the time `then`. Returns false if one of the processes ends before.
  auto lasts_until(Clock::time_point then) -> bool {
    std::vector<::pollfd> ends{{server_.said(), POLLIN, 0}};
    for (const auto& worker : workers_) ends.push_back({worker->said(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now()).count();
    return left <= 0 || ::poll(ends.data(), ends.size(), static_cast<int>(left)) == 0;
  }

 private:
  static auto serve(int say) -> int {
    IoPool pool{3};
    const ClusterSpec cluster{{"ps", {"127.0.0.1:0"}}, {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
    Server server{pool, cluster, "ps", 0};
    const std::uint16_t port = server.port();
    if (::write(say, &port, sizeof port) != sizeof port) return 70;
    const int code = server.join();
    tell("ps", server.why());
    return code;
  }

  [[nodiscard]] auto work(Rank rank, std::uint16_t port, const CutSettings& cuts) const -> int {
    asio::io_context context{1};
    const Address server{"127.0.0.1", port};
    return Worker{context, job_, rank, server, cuts, count_}.run();
  }

  const Job& job_;
  support::TempDirectory directory_;
  SharedCounter count_;
  Process server_;
  std::vector<std::unique_ptr<Process>> workers_;
};

/// Samples of the resident memory of a process.
struct Memory {
  std::string who;
  std::vector<double> mib;

  /// Returns the median in one of the four quarters of the time.
  [[nodiscard]] auto of_quarter(std::size_t quarter) const -> double {
    std::vector<double> part{mib.begin() + static_cast<std::ptrdiff_t>(mib.size() * quarter / 4),
                             mib.begin() + static_cast<std::ptrdiff_t>(mib.size() * (quarter + 1) / 4)};
    std::ranges::nth_element(part, part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2));
    return part[part.size() / 2];
  }
};

}  // namespace

TEST_CASE("Server: processes that push and pull rows and blocks as fast as they can all end", "[soak]") {
  const Consistency modes[] = {AsynchronousParallel{}, BulkSynchronousParallel{}};
  for (const Consistency consistency : modes) {
    CAPTURE(consistency.mode());
    constexpr Step steps = 300;
    const Job job = make_job(consistency, steps);
    Cluster cluster{job};
    for (Rank rank = 0; rank < workers; ++rank) CHECK(cluster.worker(rank).exit_code() == 0);
    CHECK(cluster.server().exit_code() == 0);
    CHECK(cluster.contributions() == (consistency.is_synchronous() ? steps * workers : steps));
  }
}

// Runs for DISTRIB_SOAK_SECONDS; 60 if that is not set.
TEST_CASE("Server: under the highest load of its workers memory does not grow", "[.soak]") {
  constexpr double most_growth = 1.03;  // of the server, from the third quarter of the time to the last
  // Of a worker: what it keeps to send again, which depends on how long a cut takes, and as much again, because its
  // blocks have many sizes and are reused.
  constexpr double most_of_worker = 2 * replay_budget_mib;
  const char* const told = std::getenv("DISTRIB_SOAK_SECONDS");
  const std::chrono::seconds time{told == nullptr ? 60 : std::max(4, std::atoi(told))};
  const Job job = make_job(AsynchronousParallel{}, Step{1} << 40);
  Cluster cluster{job};
  std::vector<Memory> memory{{"ps", {}}};
  for (Rank rank = 0; rank < workers; ++rank) memory.push_back({"worker " + std::to_string(rank), {}});
  const auto began = Clock::now();
  auto tell_at = began + 5s;
  std::uint64_t told_of = 0;
  while (Clock::now() < began + time) {
    REQUIRE(cluster.lasts_until(Clock::now() + 250ms));
    memory.front().mib.push_back(cluster.server().resident_mib());
    for (Rank rank = 0; rank < workers; ++rank) memory[rank + 1].mib.push_back(cluster.worker(rank).resident_mib());
    if (Clock::now() < tell_at) continue;
    tell_at += 5s;
    const std::uint64_t count = cluster.contributions();
    std::printf("%4lld s  %9llu contributions, %6.0f/s  MiB resident:",
                static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count()),
                static_cast<unsigned long long>(count), static_cast<double>(count - told_of) / 5);
    for (const Memory& of : memory) std::printf("  %s %.1f", of.who.c_str(), of.mib.back());
    std::printf("\n");
    std::fflush(stdout);
    told_of = count;
  }
  CHECK(memory.front().of_quarter(3) <= most_growth * memory.front().of_quarter(2));
  for (Rank rank = 0; rank < workers; ++rank) CHECK(std::ranges::max(memory[rank + 1].mib) <= most_of_worker);
  CHECK(cluster.contributions() > 0);
  constexpr int stopped = 1;
  for (Rank rank = 0; rank < workers; ++rank) cluster.worker(rank).ask_to_end();
  for (Rank rank = 0; rank < workers; ++rank) CHECK(cluster.worker(rank).exit_code() == stopped);
  cluster.server().ask_to_end();
  CHECK(cluster.server().exit_code() == stopped);
}
