// SPDX-License-Identifier: Apache-2.0
// Asynchronous training with a coordinator, as in TensorFlow 2's guide to parameter servers. One program is coordinator,
// worker and parameter server. TF_CONFIG says which, with the tasks "chief", "worker" and "ps"; without it the program
// starts all of them in this process.
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/coordinator.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/tensor/values.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Variables = distrib::VariableList<distrib::Variable<"slope", float, 0>, distrib::Variable<"offset", float, 0>>;
auto variables() -> Variables { return {{{}}, {{}}}; }

/// An endless data set, different on each worker.
struct Data {
  explicit Data(std::uint32_t worker) : random{worker, 0, 0} {}
  auto next() -> float { return distrib::uniform01(random()) * 2 - 1; }  // in [-1, 1)
  distrib::Philox random;
};
struct MakeData {
  static constexpr std::string_view name = "make_data";
  auto operator()(distrib::FunctionContext& context) const -> Data { return Data{context.worker_index()}; }
};

/// One step: pull, gradients of one batch of y = 2 x + 1, push. Returns the loss.
struct TrainStep {
  static constexpr std::string_view name = "train_step";
  auto operator()(distrib::FunctionContext& context, Data& data, int batch) const -> float {
    distrib::Values<Variables> values{context.variables()};
    distrib::Gradients<Variables> gradients{context.variables()};
    context.pull(values);
    float loss = 0;
    for (int i = 0; i < batch; ++i) {
      const float x = data.next(), share = 1 / static_cast<float>(batch);
      const float error = distrib::get<"slope">(values)() * x + distrib::get<"offset">(values)() - (2 * x + 1);
      distrib::get<"slope">(gradients)() += 2 * error * x * share;
      distrib::get<"offset">(gradients)() += 2 * error * share;
      loss += error * error * share;
    }
    context.push(gradients);
    return loss;
  }
};
struct ReadLine {
  static constexpr std::string_view name = "read_line";
  auto operator()(distrib::FunctionContext& context) const -> std::vector<float> {
    distrib::Values<Variables> values{context.variables()};
    context.pull(values);
    return {distrib::get<"slope">(values)(), distrib::get<"offset">(values)()};
  }
};
using Functions = distrib::FunctionList<MakeData, TrainStep, ReadLine>;

using Worker = distrib::FunctionWorker<Functions>;

auto job(const distrib::ClusterSpec& cluster) {
  return distrib::make_parameter_job(variables(), cluster, {.updater = distrib::Sgd{.learning_rate = 0.1F}});
}

void coordinate(const distrib::ClusterSpec& cluster) {
  distrib::ClusterCoordinator<Functions> coordinator{cluster};
  const auto data = coordinator.create_per_worker<MakeData>();
  for (int epoch = 1; epoch <= 4; ++epoch) {
    distrib::RemoteValue<float> loss;
    for (int step = 0; step < 200; ++step) loss = coordinator.schedule<TrainStep>(data, 16);
    coordinator.join();
    std::printf("epoch %d: loss below 0.01: %s\n", epoch, coordinator.fetch(loss) < 0.01F ? "yes" : "no");
  }
  const std::vector<float> line = coordinator.fetch(coordinator.schedule<ReadLine>());
  std::printf("y = %.2f x + %.2f\n", double{line[0]}, double{line[1]});
  coordinator.finish();  // workers and parameter servers end with code 0
}

auto here(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

void do_all_here() {
  distrib::IoPool io{1};
  distrib::Server ps{io, {{"ps", {here(0)}}, {"worker", {here(0), here(0)}}}, "ps", 0};
  const distrib::ClusterSpec any_port{{"ps", {here(ps.port())}}, {"worker", {here(0), here(0)}}};
  Worker first{any_port, 0, job(any_port)}, second{any_port, 1, job(any_port)};
  std::thread tasks[] = {std::thread{[&] { static_cast<void>(first.run()); }},
                         std::thread{[&] { static_cast<void>(second.run()); }},
                         std::thread{[&] { static_cast<void>(ps.join()); }}};
  coordinate({{"ps", {here(ps.port())}}, {"worker", {here(first.port()), here(second.port())}}});
  for (std::thread& task : tasks) task.join();
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  const auto flags = distrib::ClusterFlags::parse(argc, argv);
  if (flags.local()) return do_all_here(), 0;
  const distrib::ClusterSpec cluster{{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}};  // the chief is no rank
  if (flags.job_name == "worker") return Worker{cluster, flags.task_index, job(cluster)}.run();
  if (flags.job_name != "ps") return coordinate(cluster), 0;
  distrib::IoPool io{1};
  return distrib::Server{io, cluster, "ps", flags.task_index}.join();
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
