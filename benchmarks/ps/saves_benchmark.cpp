// SPDX-License-Identifier: Apache-2.0 Measures how long pushes take while a parameter server saves. A task of job "ps"
// runs in its own process, with a table of 4 Mi rows of 16 weights and Adagrad's 16 accumulators (512 MiB). Two workers
// over 127.0.0.1 push to 1000 rows, drawn uniformly, again and again; each waits for the answer before its next push.
// Then one cut is requested, and pushes continue until the cut is on the disk, and after that. Times are from the call
// to its answer, at the worker. Prints JSON to stdout, and a histogram to stderr. usage: saves_benchmark DIRECTORY
#include <distrib/cluster.hpp>
#include <distrib/core.hpp>
#include <distrib/net.hpp>
#include <distrib/optimizer.hpp>
#include <distrib/ps.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc.hpp>

#include "rows_block.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t dim = 16;
constexpr std::uint64_t row_count = std::uint64_t{4} << 20;
constexpr std::size_t rows_of_push = 1000;
constexpr distrib::Rank workers = 2;
constexpr std::size_t quiet_pushes = 10'000;  // number of pushes before the cut, and again after it

auto make_job() -> distrib::Job {
  distrib::Job job;
  job.ranks = workers;
  job.total_steps = std::uint64_t{1} << 60;
  job.consistency = distrib::AsynchronousParallel{};
  job.updater = "adagrad " + distrib::Adagrad{.learning_rate = 0.05F}.describe();
  job.tables = {{.name = "words", .dim = dim, .rows = 0, .initializer = distrib::ConstantInitializer{}}};
  return job;
}

/// A parameter server in its own process, which is killed when this object is destroyed or this process ends.
class ServerProcess {
 public:
  ServerProcess() {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error{"cannot make a pipe"};
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error{"cannot start a process"};
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(serve(pipe[1]));
    }
    ::close(pipe[1]);
    const bool told = ::read(pipe[0], &port_, sizeof port_) == sizeof port_;
    ::close(pipe[0]);
    if (!told) throw std::runtime_error{"the parameter server did not start"};
  }
  ServerProcess(const ServerProcess&) = delete;
  auto operator=(const ServerProcess&) -> ServerProcess& = delete;
  ~ServerProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] auto port() const -> std::uint16_t { return port_; }

 private:
  static auto serve(int say) -> int try {
    distrib::IoPool pool{2};  // one thread for the shard, one for files
    const std::vector<std::string> addresses(workers, "127.0.0.1:1");
    distrib::Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", addresses}}, "ps", 0};
    const std::uint16_t port = server.port();
    if (::write(say, &port, sizeof port) != sizeof port) return 70;
    return server.join();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: the server: %s\n", error.what());
    return 70;
  }

  ::pid_t pid_ = 0;
  std::uint16_t port_ = 0;
};

/// The parts of the run. Each part has its own list of push times.
enum class Part { filling, before, during, after };
constexpr std::array<const char*, 4> part_names{"filling", "before", "during", "after"};

struct Measured {
  Part part = Part::filling;
  std::array<std::vector<double>, 4> times;  // milliseconds of the pushes of each part
  std::array<Clock::time_point, 4> begun;  // when each part began
  double longest = 0;  // the longest push during the cut, in milliseconds
  double longest_after = 0;  // when that push ended, in seconds since the cut was requested

  void begin(Part next) {
    part = next;
    begun[static_cast<std::size_t>(next)] = Clock::now();
  }
  void add(Part which, Clock::time_point began) {
    const auto now = Clock::now();
    const double took = std::chrono::duration<double, std::milli>(now - began).count();
    of(which).push_back(took);
    if (which != Part::during || took < longest) return;
    longest = took;
    longest_after = std::chrono::duration<double>(now - begun[static_cast<std::size_t>(which)]).count();
  }
  [[nodiscard]] auto of(Part which) -> std::vector<double>& { return times[static_cast<std::size_t>(which)]; }
  [[nodiscard]] auto seconds_of_cut() const -> double {
    return std::chrono::duration<double>(begun[static_cast<std::size_t>(Part::after)] -
                                         begun[static_cast<std::size_t>(Part::during)])
        .count();
  }
};

auto key_of(std::uint64_t n) -> std::uint64_t { return (n + 1) * 0x9E37'79B9'7F4A'7C15; }

class Worker {
 public:
  Worker(asio::io_context& context, const distrib::Job& job, distrib::Rank rank, std::uint16_t port,
         std::string directory, Measured& measured)
      : job_{job},
        layout_{job, 0},
        rank_{rank},
        directory_{std::move(directory)},
        measured_{measured},
        client_{connect(context, port)},
        random_{rank + 1U} {}

  void start(asio::io_context& context, std::function<void()> filled) {
    filled_ = std::move(filled);
    asio::co_spawn(context, run(), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }

  /// Pushes again and again, until the part after the cut has enough pushes.
  void go_on() {
    std::vector<std::uint64_t> keys;
    for (std::size_t i = 0; i < rows_of_push; ++i) keys.push_back(key_of(random_() % row_count));
    const distrib::PushRequest request{++step_, rank_, 0, rows_block(layout_, std::move(keys))};
    client_.async_call<distrib::Push>(
        request, 60s,
        [this, began = Clock::now(), part = measured_.part](std::error_code ec, const distrib::PushReply& reply) {
          if (ec) throw std::system_error{ec, "a push"};
          if (reply.progress.done != step_) throw std::runtime_error{"a push was not counted"};
          // A push that began before the cut counts to the part in which it ended; any other counts to the part in
          // which it began.
          const Part met = part == Part::before ? measured_.part : part;
          measured_.add(met, began);
          if (met == Part::before && measured_.of(met).size() == quiet_pushes) save();
          if (measured_.of(Part::after).size() < quiet_pushes) go_on();
        });
  }

  /// Returns the status of the shard, with the push times that the server itself has measured.
  auto status() -> asio::awaitable<distrib::ShardStatus> {
    co_return co_await client_.async_call<distrib::Status>({}, 10s, asio::use_awaitable);
  }

 private:
  static auto connect(asio::io_context& context, std::uint16_t port) -> distrib::RpcClient {
    distrib::TcpSocket socket{context};
    socket.connect({asio::ip::address_v4::loopback(), port});
    distrib::RpcClientOptions how;
    how.service = 0;  // the shard
    how.categories = distrib::ps_categories();
    return distrib::RpcClient{std::move(socket), how};
  }

  // Joins, creates this worker's share of all rows, and then waits for the message that the cut is complete.
  auto run() -> asio::awaitable<void> {
    auto stream =
        client_.open<distrib::Join>({rank_, distrib::to_hex(job_hash(job_)), to_text(job_), {.directory = directory_}});
    auto item = co_await stream.async_read(asio::use_awaitable);
    if (!item || item->kind != distrib::JoinItem::Kind::joined)
      throw std::runtime_error{"the parameter server did not accept Join"};
    constexpr std::uint64_t at_once = 4096;
    for (std::uint64_t first = rank_ * at_once; first < row_count; first += workers * at_once) {
      std::vector<std::uint64_t> keys;
      for (std::uint64_t n = first; n < first + at_once; ++n) keys.push_back(key_of(n));
      const distrib::PushRequest request{++step_, rank_, 0, rows_block(layout_, std::move(keys))};
      co_await client_.async_call<distrib::Push>(request, 60s, asio::use_awaitable);
    }
    filled_();
    while ((item = co_await stream.async_read(asio::use_awaitable)))
      if (measured_.part == Part::during && !item->progress.cuts.empty() && item->progress.cuts.back() != 0)
        measured_.begin(Part::after);
  }

  void save() {
    measured_.begin(Part::during);
    client_.async_call<distrib::Save>({}, 60s, [](std::error_code ec, const auto&) {
      if (ec) throw std::system_error{ec, "a cut"};
    });
  }

  const distrib::Job& job_;
  distrib::ShardLayout layout_;
  distrib::Rank rank_;
  std::string directory_;
  Measured& measured_;
  distrib::RpcClient client_;
  std::function<void()> filled_;
  std::mt19937_64 random_;
  distrib::Step step_ = 0;
};

auto quantile(const std::vector<double>& sorted, double part) -> double {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

// Prints a histogram: for each power of two the percentage of pushes of each part that took that long.
void draw(Measured& measured) {
  std::fprintf(stderr, "%16s %9s %9s %9s\n", "a push of", "before", "during", "after");
  for (double most = 1.0 / 16; most <= 4096; most *= 2) {
    std::array<double, 3> share{};
    for (std::size_t i = 0; i < share.size(); ++i) {
      const std::vector<double>& times = measured.times[i + 1];
      const double least = most < 0.1 ? 0 : most / 2;
      const auto in = std::ranges::count_if(times, [=](double time) { return least <= time && time < most; });
      share[i] = 100 * static_cast<double>(in) / static_cast<double>(times.size());
    }
    if (share == std::array<double, 3>{}) continue;
    std::fprintf(stderr, "  < %9.3f ms %8.2f%% %8.2f%% %8.2f%%\n", most, share[0], share[1], share[2]);
  }
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc != 2) throw std::invalid_argument{"usage: saves_benchmark DIRECTORY"};
  const distrib::Job job = make_job();
  std::filesystem::remove_all(argv[1]);
  const ServerProcess server;
  asio::io_context context{1};
  Measured measured;
  std::vector<std::unique_ptr<Worker>> all;
  for (distrib::Rank rank = 0; rank < workers; ++rank)
    all.push_back(std::make_unique<Worker>(context, job, rank, server.port(), argv[1], measured));
  std::size_t filled = 0;
  for (const auto& worker : all)
    worker->start(context, [&] {
      if (++filled < all.size()) return;
      measured.begin(Part::before);
      for (const auto& one : all) one->go_on();
    });
  while (measured.of(Part::after).size() < quiet_pushes) context.run_one();

  std::optional<distrib::ShardStatus> status;
  asio::co_spawn(context, all[0]->status(), [&](const std::exception_ptr& failure, distrib::ShardStatus got) {
    if (failure) std::rethrow_exception(failure);
    status = std::move(got);
  });
  while (!status) context.run_one();

  draw(measured);
  std::fprintf(stderr,
               "the cut: %.1f s, %zu pushes meanwhile; the longest was answered %.2f s after the cut was requested; by "
               "the server's own clock no push took longer than %.1f ms\n",
               measured.seconds_of_cut(), measured.of(Part::during).size(), measured.longest_after,
               std::chrono::duration<double, std::milli>(status->push_times.max()).count());
  std::printf("{\"seconds\": %.3f", measured.seconds_of_cut());
  for (const Part part : {Part::before, Part::during, Part::after}) {
    std::vector<double>& times = measured.of(part);
    std::ranges::sort(times);
    std::printf(R"(, "%s": {"p50": %.4f, "p99": %.4f, "longest": %.4f})", part_names[static_cast<std::size_t>(part)],
                quantile(times, 0.5), quantile(times, 0.99), times.back());
  }
  std::puts("}");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
