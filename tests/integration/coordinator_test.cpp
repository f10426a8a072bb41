// SPDX-License-Identifier: Apache-2.0
// A coordinator, three workers and two parameter servers as processes of their own, each killed with kill -9 at ten
// moments: every function ends with its value, nothing is counted less than once, and in the end every process ends
// with code 0.
#include <distrib/coordinator/cluster_coordinator.hpp>
#include <distrib/coordinator/function_worker.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/tensor/values.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace coordinator_processes {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t num_workers = 3;
constexpr int kills = 10;

// --- functions ---

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Variable<"n", std::int64_t, 0>>;

struct Started {
  std::int64_t runs = 0;
};
struct Start {
  static constexpr std::string_view name = "start";
  auto operator()(distrib::FunctionContext&) const -> Started { return {}; }
};
/// Counts itself, and returns its number.
struct Count {
  static constexpr std::string_view name = "count";
  auto operator()(distrib::FunctionContext& context, Started& started, int number) const -> int {
    ++started.runs;
    distrib::Gradients<Variables> gradients{context.variables()};
    for (float& element : distrib::get<"w">(gradients)) element = 1;
    distrib::get<"n">(gradients)() = 1;
    context.push(gradients);
    std::this_thread::sleep_for(2ms);
    return number;
  }
};
/// Returns how often Count was counted, and on each half of w.
struct Read {
  static constexpr std::string_view name = "read";
  auto operator()(distrib::FunctionContext& context) const -> std::vector<std::int64_t> {
    distrib::Values<Variables> values{context.variables()};
    context.pull(values);
    const auto w = distrib::get<"w">(values);
    return {distrib::get<"n">(values)(), static_cast<std::int64_t>(-w(0)), static_cast<std::int64_t>(-w(31))};
  }
};
using Functions = distrib::FunctionList<Start, Count, Read>;
using Coordinator = distrib::ClusterCoordinator<Functions>;

// --- processes ---

/// What a task does: serves on a port (0: any), tells it, and returns its exit code.
using Task = std::function<int(std::uint16_t port, const std::function<void(std::uint16_t)>& told)>;

void put(int file, const void* bytes, std::size_t size) {
  REQUIRE(::write(file, bytes, size) == static_cast<::ssize_t>(size));
}
template <class T>
auto get(int file, T& value) -> bool {
  return ::read(file, &value, sizeof value) == static_cast<::ssize_t>(sizeof value);
}

/// Runs a task in a process that may be killed and started again. A keeper process in between starts it, because this
/// program has threads, which a child must not inherit.
class Process {
 public:
  explicit Process(const Task& task) {
    std::array<int, 2> down{}, up{};
    if (::pipe(down.data()) != 0 || ::pipe(up.data()) != 0) throw std::system_error{errno, std::generic_category()};
    std::fflush(stdout);
    keeper_ = ::fork();
    if (keeper_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(down[1]);
      ::close(up[0]);
      keep(task, down[0], up[1]);
    }
    ::close(down[0]);
    ::close(up[1]);
    orders_ = down[1];
    reports_ = up[0];
    REQUIRE(get(reports_, port_));
  }
  Process(const Process&) = delete;
  ~Process() {
    ::close(orders_);
    ::close(reports_);
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
  }

  [[nodiscard]] auto address() const -> std::string { return "127.0.0.1:" + std::to_string(port_); }
  /// kill -9, and another start at once.
  void kill() const { put(orders_, "k", 1); }
  /// Waits until it ends by itself, at most a minute, and returns its code.
  [[nodiscard]] auto code() const -> int {
    ::pollfd ended{reports_, POLLIN, 0};
    int code = -1;
    if (::poll(&ended, 1, 60'000) == 1 && get(reports_, code)) return code;
    return -1;
  }

 private:
  [[noreturn]] static void keep(const Task& task, int orders, int reports) {
    std::uint16_t port = 0;
    ::pid_t child = start(task, port);
    if (::write(reports, &port, sizeof port) < 0) ::_exit(1);
    while (true) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        if (::write(reports, &code, sizeof code) < 0) ::_exit(1);
        while (true) ::pause();
      }
      ::pollfd order{orders, POLLIN, 0};
      if (::poll(&order, 1, 5) != 1) continue;
      char what = 0;
      if (!get(orders, what)) ::_exit(0);  // with its child, see PR_SET_PDEATHSIG
      if (::waitpid(child, &status, WNOHANG) == child) continue;
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      child = start(task, port);
    }
  }
  static auto start(const Task& task, std::uint16_t& port) -> ::pid_t {
    std::array<int, 2> said{};
    if (::pipe(said.data()) != 0) ::_exit(1);
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        ::_exit(task(port, [&](std::uint16_t at) { static_cast<void>(::write(said[1], &at, sizeof at)); }));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", static_cast<int>(::getpid()), error.what());
        ::_exit(99);
      }
    }
    ::close(said[1]);
    static_cast<void>(get(said[0], port));
    ::close(said[0]);
    return child;
  }

  ::pid_t keeper_ = 0;
  int orders_ = -1;
  int reports_ = -1;
  std::uint16_t port_ = 0;
};

struct Tasks {
  explicit Tasks(std::string of) : directory{std::move(of)} {
    for (std::uint32_t task = 0; task < 2; ++task) ps.push_back(std::make_unique<Process>(parameter_server(task)));
    for (std::uint32_t task = 0; task < num_workers; ++task) workers.push_back(std::make_unique<Process>(worker(task)));
  }

  [[nodiscard]] auto parameter_server(std::uint32_t task) const -> Task {
    return [task, of = directory](std::uint16_t port, const auto& told) {
      distrib::IoPool io{2};
      std::vector<std::string> hosts{"127.0.0.1:1", "127.0.0.1:1"};
      hosts[task] = "127.0.0.1:" + std::to_string(port);
      distrib::ServerOptions options;
      options.directory = of;
      distrib::Server server{io,
                             {{"ps", hosts}, {"worker", std::vector<std::string>(num_workers, "127.0.0.1:1")}},
                             "ps",
                             task,
                             distrib::StandardUpdaters{},
                             options};
      told(server.port());
      const int code = server.join();
      if (code != 0)
        std::fprintf(stderr, "ps %u: %s: %s\n", task, server.why().where.c_str(), server.why().code.message().c_str());
      return code;
    };
  }
  [[nodiscard]] auto worker(std::uint32_t task) const -> Task {
    const std::vector<std::string> ps_hosts{ps[0]->address(), ps[1]->address()};
    return [task, ps_hosts, of = directory](std::uint16_t port, const auto& told) {
      std::vector<std::string> hosts(num_workers, "127.0.0.1:1");
      hosts[task] = "127.0.0.1:" + std::to_string(port);
      const distrib::ClusterSpec cluster{{"ps", ps_hosts}, {"worker", hosts}};
      const Variables variables{{{32}}, {{}}};
      distrib::FunctionWorker<Functions> worker{
          cluster, task,
          distrib::make_parameter_job(variables, cluster,
                                      {.updater = distrib::Sgd{.learning_rate = 1.0F}, .directory = of},
                                      distrib::FixedShardsPartitioner{2})};
      told(worker.port());
      return worker.run();
    };
  }

  [[nodiscard]] auto cluster() const -> distrib::ClusterSpec {
    return {{"ps", {ps[0]->address(), ps[1]->address()}},
            {"worker", {workers[0]->address(), workers[1]->address(), workers[2]->address()}}};
  }
  void check_codes() const {
    for (const auto& process : workers) CHECK(process->code() == 0);
    for (const auto& process : ps) CHECK(process->code() == 0);
  }

  std::string directory;
  std::vector<std::unique_ptr<Process>> ps, workers;
};

/// Schedules functions while `kill` is called at ten moments; all end with their values. Returns what was counted.
auto count_while(const distrib::ClusterSpec& cluster, int functions, const std::function<void(int)>& kill)
    -> std::vector<std::int64_t> {
  Coordinator coordinator{cluster};
  const auto started = coordinator.create_per_worker<Start>();
  std::vector<distrib::RemoteValue<int>> values;
  for (int i = 0; i < functions; ++i) values.push_back(coordinator.schedule<Count>(started, i));
  for (int i = 0; i < kills; ++i) {
    // Spread over the run: when the next part of the functions has ended.
    coordinator.fetch(values[static_cast<std::size_t>(i * functions / kills)], 60s);
    kill(i);
  }
  coordinator.join(120s);
  for (int i = 0; i < functions; ++i) CHECK(coordinator.fetch(values[static_cast<std::size_t>(i)]) == i);
  const auto counted = coordinator.fetch(coordinator.schedule<Read>());
  coordinator.finish();
  return counted;
}

}  // namespace

TEST_CASE("P065 coordinator: workers killed at ten moments; each function counts at least once", "[integration]") {
  const support::TempDirectory directory;
  const Tasks tasks{directory.path().string()};
  distrib::sim::Dice dice{1};
  const auto counted = count_while(tasks.cluster(), 300, [&](int) { tasks.workers[dice.below(num_workers)]->kill(); });
  for (const std::int64_t count : counted) {
    CHECK(count >= 300);
    CHECK(count <= 300 + kills);  // a killed function may have counted already
  }
  tasks.check_codes();
}

TEST_CASE("P066 coordinator: parameter servers killed at ten moments; each function counts exactly once",
          "[integration]") {
  const support::TempDirectory directory;
  const Tasks tasks{directory.path().string()};
  const auto counted =
      count_while(tasks.cluster(), 300, [&](int i) { tasks.ps[static_cast<std::size_t>(i) % 2]->kill(); });
  CHECK(counted == std::vector<std::int64_t>{300, 300, 300});
  tasks.check_codes();
}

TEST_CASE("coordinator: killed itself at ten moments; the next one goes on with the same workers and variables",
          "[integration]") {
  const support::TempDirectory directory;
  const Tasks tasks{directory.path().string()};
  const distrib::ClusterSpec cluster = tasks.cluster();
  const Process chief{[cluster](std::uint16_t, const auto& told) {
    Coordinator coordinator{cluster};
    const auto started = coordinator.create_per_worker<Start>();
    told(1);
    for (int i = 0; i < 100; ++i) coordinator.schedule<Count>(started, i);
    coordinator.join();
    const auto counted = coordinator.fetch(coordinator.schedule<Read>());
    coordinator.finish();
    return counted[0] >= 100 && counted[1] >= 100 && counted[2] >= 100 ? 0 : 3;
  }};
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{3 * i});  // at another moment of its run each time
    chief.kill();
  }
  CHECK(chief.code() == 0);
  tasks.check_codes();
}

}  // namespace coordinator_processes
