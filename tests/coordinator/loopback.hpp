// SPDX-License-Identifier: Apache-2.0
// Workers of a coordinator in this process, each with a thread, and functions for them, over the loopback device.
#pragma once

#include <distrib/coordinator/cluster_coordinator.hpp>
#include <distrib/coordinator/function.hpp>
#include <distrib/coordinator/function_worker.hpp>
#include <distrib/tensor/values.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace coordinated {

using namespace std::chrono_literals;

struct Point {
  std::int32_t x = 0, y = 0;
};

struct Add {
  static constexpr std::string_view name = "add";
  auto operator()(distrib::FunctionContext&, int a, int b) const -> int { return a + b; }
};
struct Scale {
  static constexpr std::string_view name = "scale";
  auto operator()(distrib::FunctionContext&, std::vector<float> values, const std::string& by) const
      -> std::vector<float> {
    for (float& value : values) value *= std::stof(by);
    return values;
  }
};
struct Mirror {
  static constexpr std::string_view name = "mirror";
  auto operator()(distrib::FunctionContext&, Point point) const -> Point { return {point.y, point.x}; }
};
struct WhoRuns {
  static constexpr std::string_view name = "who_runs";
  auto operator()(distrib::FunctionContext& context, int number) const -> int {
    return static_cast<int>(context.worker_index()) * 100 + static_cast<int>(context.workers()) * 10 + number;
  }
};
struct Fail {
  static constexpr std::string_view name = "fail";
  void operator()(distrib::FunctionContext&, int how) const {
    if (how == 0) throw std::runtime_error{"no such batch"};
    if (how == 1) throw std::system_error{distrib::make_error_code(distrib::rpc_errc::bad_secret), "secret"};
    if (how == 2) throw 3;
    throw std::system_error{std::error_code{}, "nothing"};
  }
};
/// Runs until it is asked to stop.
struct WaitForStop {
  static constexpr std::string_view name = "wait_for_stop";
  auto operator()(distrib::FunctionContext& context) const -> int {
    ++running();
    while (!context.is_stopped()) std::this_thread::yield();
    --running();
    return 1;
  }
  static auto running() -> std::atomic<int>& {
    static std::atomic<int> count = 0;
    return count;
  }
};
/// Waits until the test opens the gate.
struct WaitForGate {
  static constexpr std::string_view name = "wait_for_gate";
  void operator()(distrib::FunctionContext& context) const {
    while (!is_open() && !context.is_stopped()) std::this_thread::yield();
  }
  static auto is_open() -> std::atomic<bool>& {
    static std::atomic<bool> open = false;
    return open;
  }
};

struct Numbers {
  int next = 0;
  int step = 1;
};
struct MakeNumbers {
  static constexpr std::string_view name = "make_numbers";
  auto operator()(distrib::FunctionContext&, int first, int step) const -> Numbers {
    if (step == 0) throw std::invalid_argument{"a step of 0"};
    return {first, step};
  }
};
struct NextNumber {
  static constexpr std::string_view name = "next_number";
  auto operator()(distrib::FunctionContext&, Numbers& numbers, int plus) const -> int {
    numbers.next += numbers.step;
    return numbers.next + plus;
  }
};
struct Large {
  static constexpr std::string_view name = "large";
  auto operator()(distrib::FunctionContext&, std::uint32_t bytes) const -> std::string {
    return std::string(bytes, 'x');
  }
};

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Variable<"n", std::int64_t, 0>>;
/// Adds 1 to the counter, and pushes a gradient for w.
struct Push {
  static constexpr std::string_view name = "push";
  auto operator()(distrib::FunctionContext& context, float gradient) const -> std::int64_t {
    distrib::Values<Variables> values{context.variables()};
    context.pull(values);
    distrib::Gradients<Variables> gradients{context.variables()};
    for (float& element : distrib::get<"w">(gradients)) element = gradient;
    distrib::get<"n">(gradients)() = 1;
    context.push(gradients);
    return distrib::get<"n">(values)();
  }
};
/// Returns all elements of w, and then the counter.
struct Read {
  static constexpr std::string_view name = "read";
  auto operator()(distrib::FunctionContext& context) const -> std::vector<float> {
    distrib::Values<Variables> values{context.variables()};
    context.pull(values);
    const auto w = distrib::get<"w">(values);
    std::vector<float> result(w.begin(), w.end());
    result.push_back(static_cast<float>(distrib::get<"n">(values)()));
    return result;
  }
};

using Functions = distrib::FunctionList<Add, Scale, Mirror, WhoRuns, Fail, WaitForStop, WaitForGate, MakeNumbers,
                                        NextNumber, Large, Push, Read>;
using Coordinator = distrib::ClusterCoordinator<Functions>;

/// Some workers, and the cluster that they are.
class Workers {
 public:
  explicit Workers(std::uint32_t count, distrib::FunctionWorkerOptions options = {},
                   std::vector<std::string> ps_hosts = {},
                   const std::function<distrib::ParameterJob(const distrib::ClusterSpec&)>& job = {})
      : options_{std::move(options)} {
    const distrib::ClusterSpec unknown{{"ps", ps_hosts}, {"worker", std::vector<std::string>(count, "127.0.0.1:0")}};
    if (job) job_ = job(unknown);
    std::vector<std::string> hosts;
    for (std::uint32_t index = 0; index < count; ++index) {
      runs_.push_back(std::make_unique<Run>());
      runs_.back()->worker = std::make_unique<Worker>(unknown, index, job_, options_);
      hosts.push_back("127.0.0.1:" + std::to_string(runs_.back()->worker->port()));
    }
    cluster_ = {{"ps", std::move(ps_hosts)}, {"worker", std::move(hosts)}};
    for (std::uint32_t index = 0; index < count; ++index) begin(index);
  }
  Workers(const Workers&) = delete;
  ~Workers() {
    for (std::uint32_t index = 0; index < runs_.size(); ++index) stop(index);
  }

  [[nodiscard]] auto cluster() const -> const distrib::ClusterSpec& { return cluster_; }

  /// Ends a worker as if its process had ended; its present function may run on.
  void stop(std::uint32_t index) {
    Run& run = *runs_[index];
    if (run.worker == nullptr) return;
    run.worker->stop();
    if (run.thread.joinable()) run.thread.join();
    run.worker.reset();
  }
  /// Starts it again, on the same port.
  void start(std::uint32_t index) {
    stop(index);
    runs_[index]->worker = std::make_unique<Worker>(cluster_, index, job_, options_);
    begin(index);
  }
  /// Waits until the worker has ended by itself, and returns its code.
  auto code(std::uint32_t index) -> int {
    Run& run = *runs_[index];
    if (run.thread.joinable()) run.thread.join();
    run.why = run.worker->why();
    run.worker.reset();
    return run.code;
  }
  [[nodiscard]] auto why(std::uint32_t index) const -> const distrib::Error& { return runs_[index]->why; }

 private:
  using Worker = distrib::FunctionWorker<Functions>;
  struct Run {
    std::unique_ptr<Worker> worker;
    std::thread thread;
    int code = -1;
    distrib::Error why;
  };
  void begin(std::uint32_t index) {
    Run& run = *runs_[index];
    run.thread = std::thread{[&run] { run.code = run.worker->run(); }};
  }

  distrib::FunctionWorkerOptions options_;
  std::optional<distrib::ParameterJob> job_;
  distrib::ClusterSpec cluster_;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace coordinated
