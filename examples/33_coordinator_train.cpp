// SPDX-License-Identifier: Apache-2.0
// Asynchronous training with a coordinator: the program of TensorFlow 2's guide to parameter servers. One program is
// coordinator, worker and parameter server. TF_CONFIG says which, with the tasks "chief", "worker" and "ps"; without it
// the program starts all of them in this process.
#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/coordinator.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/torch_rmsprop.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/tensor/values.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::array<std::string_view, 7> vocabulary{"avenger",   "ironman",  "batman",      "hulk",
                                                     "spiderman", "kingkong", "wonder_woman"};
/// Returns the row of a name in the embedding: 1 for the first name of the vocabulary, 0 for an unknown name.
auto lookup(std::string_view name) -> std::size_t {
  const auto at = static_cast<std::size_t>(std::ranges::find(vocabulary, name) - vocabulary.begin());
  return at == vocabulary.size() ? 0 : at + 1;
}

struct Example {
  std::array<std::size_t, 3> rows;  // of three names
  float label;  // 1 if "avenger" is one of them, otherwise 0
};
/// All 35 sets of three names, drawn at random, differently on each worker.
struct Data {
  explicit Data(std::uint32_t worker) : random{worker, 0, 0} {
    for (auto a = vocabulary.begin(); a != vocabulary.end(); ++a)
      for (auto b = a + 1; b < vocabulary.end(); ++b)
        for (auto c = b + 1; c < vocabulary.end(); ++c)
          examples.push_back({{lookup(*a), lookup(*b), lookup(*c)}, *a == "avenger" ? 1.0F : 0.0F});
  }
  auto next() -> const Example& { return examples[random() % examples.size()]; }
  distrib::Philox random;
  std::vector<Example> examples;
};
struct MakeData {
  static constexpr std::string_view name = "make_data";
  auto operator()(distrib::FunctionContext& context) const -> Data { return Data{context.worker_index()}; }
};

using Variables = distrib::VariableList<distrib::Variable<"embedding", float, 2>, distrib::Variable<"kernel", float, 2>,
                                        distrib::Variable<"bias", float, 1>>;
auto variables() -> Variables {
  return {{{8, 16}, distrib::UniformInitializer{}}, {{16, 1}, distrib::GlorotUniformInitializer{}}, {{1}}};
}

/// The model: the mean of three rows of the embedding, then a dense layer of one unit with a sigmoid.
struct Prediction {
  Prediction(const distrib::Values<Variables>& values, const Example& example) {
    const auto embedding = distrib::get<"embedding">(values);
    const auto kernel = distrib::get<"kernel">(values);
    float logit = distrib::get<"bias">(values)(0);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      for (const std::size_t row : example.rows) mean[i] += embedding(row, i) / 3;
      logit += mean[i] * kernel(i, 0);
    }
    error = 1 / (1 + std::exp(-logit)) - example.label;
  }
  std::array<float, 16> mean{};
  float error;  // the probability of label 1, minus the label: the gradient of the cross entropy by the logit
};

/// One step: pull, gradients of one batch, push. Returns the loss: the mean cross entropy.
struct TrainStep {
  static constexpr std::string_view name = "train_step";
  auto operator()(distrib::FunctionContext& context, Data& data, int batch) const -> float {
    distrib::Values<Variables> values{context.variables()};
    distrib::Gradients<Variables> gradients{context.variables()};
    context.pull(values);
    const auto kernel = distrib::get<"kernel">(values);
    auto d_embedding = distrib::get<"embedding">(gradients);
    auto d_kernel = distrib::get<"kernel">(gradients);
    float loss = 0;
    for (int i = 0; i < batch; ++i) {
      const Example& example = data.next();
      const Prediction made{values, example};
      const float share = made.error / static_cast<float>(batch);
      for (std::size_t j = 0; j < made.mean.size(); ++j) {
        for (const std::size_t row : example.rows) d_embedding(row, j) += share * kernel(j, 0) / 3;
        d_kernel(j, 0) += share * made.mean[j];
      }
      distrib::get<"bias">(gradients)(0) += share;
      loss -= std::log(1 - std::abs(made.error)) / static_cast<float>(batch);
    }
    context.push(gradients);
    return loss;
  }
};
/// Returns the part of all examples that the model gets right.
struct Accuracy {
  static constexpr std::string_view name = "accuracy";
  auto operator()(distrib::FunctionContext& context, Data& data) const -> float {
    distrib::Values<Variables> values{context.variables()};
    context.pull(values);
    const auto right = std::ranges::count_if(
        data.examples, [&](const Example& example) { return std::abs(Prediction{values, example}.error) < 0.5F; });
    return static_cast<float>(right) / static_cast<float>(data.examples.size());
  }
};
using Functions = distrib::FunctionList<MakeData, TrainStep, Accuracy>;
using Worker = distrib::FunctionWorker<Functions>;

auto job(const distrib::ClusterSpec& cluster) {
  const distrib::TorchRMSProp updater{.learning_rate = 0.1F, .decay = 0.9, .epsilon = 3e-4F};
  return distrib::make_parameter_job(variables(), cluster, {.updater = updater});
}

void coordinate(const distrib::ClusterSpec& cluster) {
  distrib::ClusterCoordinator<Functions> coordinator{cluster};
  const auto data = coordinator.create_per_worker<MakeData>();
  for (int epoch = 1; epoch <= 4; ++epoch) {
    distrib::RemoteValue<float> loss;
    for (int step = 0; step < 50; ++step) loss = coordinator.schedule<TrainStep>(data, 32);
    coordinator.join();
    const float accuracy = coordinator.fetch(coordinator.schedule<Accuracy>(data));
    std::printf("epoch %d: accuracy %.2f, loss %.2f\n", epoch, double{accuracy}, double{coordinator.fetch(loss)});
  }
  coordinator.finish();  // workers and parameter servers end with code 0
}

auto here(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

void do_all_here() {
  distrib::IoPool io{1};
  distrib::Server ps{io, {{"ps", {here(0)}}, {"worker", {here(0), here(0)}}}, "ps", 0};
  const distrib::ClusterSpec any_port{{"ps", {here(ps.port())}}, {"worker", {here(0), here(0)}}};
  Worker first{any_port, 0, job(any_port)}, second{any_port, 1, job(any_port)};
  const std::jthread tasks[] = {std::jthread{[&] { static_cast<void>(first.run()); }},
                                std::jthread{[&] { static_cast<void>(second.run()); }},
                                std::jthread{[&] { static_cast<void>(ps.join()); }}};
  coordinate({{"ps", {here(ps.port())}}, {"worker", {here(first.port()), here(second.port())}}});
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
