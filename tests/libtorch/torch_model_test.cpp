// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/model_memory.hpp"
#include "libtorch/nets.hpp"
#include "libtorch/points.hpp"

#include "support/loopback.hpp"
#include "support/temp_directory.hpp"
#include "train/loopback_cluster.hpp"

#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/libtorch/load.hpp>
#include <distrib/libtorch/torch_tensor.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sim/run.hpp>
#include <distrib/train/builder.hpp>

#include <torch/nn/modules/container/sequential.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using distrib::libtorch_errc;
using distrib::StepContext;
using distrib::torch_tensor;
using distrib::TorchModel;
using distrib::TorchOptions;
using support::context_of;
using support::failure_of;
using support::ModelMemory;
using support::Point;
using support::PointBatch;

namespace {

auto mean_square(const torch::Tensor& predicted, const distrib::Batch<Point>& batch) -> torch::Tensor {
  return torch::mse_loss(predicted, torch_tensor(batch.column(&Point::y)));
}

template <class Net> struct PointTask {
  using Example = Point;
  auto make() const { return std::make_shared<Net>(); }
  auto loss(Net& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    return mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
  }
  auto evaluate(Net& net, const distrib::Batch<Point>& batch) const -> distrib::Metrics {
    return {batch.size(), {{"mse", loss(net, batch).template item<double>()}}};
  }
};

// A task whose loss is a function.
struct AnyLoss {
  using Example = Point;
  std::function<torch::Tensor(support::NormNet&, const distrib::Batch<Point>&)> function;
  auto make() const { return std::make_shared<support::NormNet>(); }
  auto loss(support::NormNet& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    return function(net, batch);
  }
  auto evaluate(support::NormNet&, const distrib::Batch<Point>& batch) const -> distrib::Metrics {
    return {batch.size(), {}};
  }
};

// All gradients of one contribution.
template <class Model> auto contribution(const Model& model, const StepContext& context)
    -> std::vector<std::vector<float>> {
  ModelMemory memory{model};
  const PointBatch data{8, context.step};
  (void)model.gradients(data.batch, std::as_const(memory.values), memory.gradients, context);
  std::vector<std::vector<float>> all;
  for (std::size_t v = 0; v < memory.gradients.size(); ++v) all.push_back(memory.gradient(v));
  return all;
}

// The failure of a contribution whose loss is this function.
auto failure_in(std::function<torch::Tensor(support::NormNet&, const distrib::Batch<Point>&)> loss,
                const TorchOptions& options = {}) -> distrib::Error {
  const TorchModel model{AnyLoss{std::move(loss)}, options};
  return failure_of([&] { (void)contribution(model, context_of(1)); });
}

}  // namespace

static_assert(distrib::TorchTask<PointTask<support::LineNet>>);
static_assert(distrib::Model<TorchModel<PointTask<support::LineNet>>>);

TEST_CASE("TorchModel: loss and gradients are those of LibTorch", "[libtorch]") {
  const TorchModel model{PointTask<support::LineNet>{}};
  ModelMemory memory{model, 7};
  const PointBatch data{8};
  const float loss = model.gradients(data.batch, std::as_const(memory.values), memory.gradients, context_of(1, 0, 7));

  torch::manual_seed(7);
  support::LineNet net;
  const torch::Tensor expected = mean_square(net.forward(torch_tensor(data.batch.column(&Point::x))), data.batch);
  expected.backward();
  CHECK(loss == expected.item<float>());
  const auto parameters = net.parameters();
  REQUIRE(memory.gradients.size() == parameters.size());
  for (std::size_t v = 0; v < parameters.size(); ++v) {
    const auto gradient = parameters[v].grad().contiguous();
    CHECK(memory.gradient(v) ==
          std::vector<float>(gradient.data_ptr<float>(), gradient.data_ptr<float>() + gradient.numel()));
  }
}

TEST_CASE("TorchModel: the initial values of a seed", "[libtorch]") {
  const TorchModel model{PointTask<support::LineNet>{}};
  const ModelMemory one{model, 1}, same{model, 1}, other{model, 2};
  for (std::size_t v = 0; v < one.values.size(); ++v) {
    CHECK(std::memcmp(one.values.data(v), same.values.data(v), one.values.size_bytes(v)) == 0);
    CHECK((std::memcmp(one.values.data(v), other.values.data(v), one.values.size_bytes(v)) == 0) == (v == 0));
  }
}

TEST_CASE("TorchModel: random numbers by (seed, step, rank), from threads beside an evaluation", "[libtorch]") {
  const TorchModel model{PointTask<support::NormNet>{}};
  const auto expected = contribution(model, context_of(1));
  CHECK(contribution(model, context_of(1)) == expected);
  CHECK(contribution(model, context_of(1, 1))[0] != expected[0]);
  CHECK(contribution(model, context_of(1, 0, (std::uint64_t{1} << 32) + 1))[0] != expected[0]);

  const auto second = contribution(model, context_of(1, 1));
  std::atomic<int> wrong{0};
  std::atomic<bool> done{false};
  std::thread evaluating{[&] {
    const ModelMemory memory{model};
    const PointBatch data{50};
    const double mse = model.evaluate(data.batch, memory.values).means.at(0).second;
    while (!done) wrong += model.evaluate(data.batch, memory.values).means.at(0).second == mse ? 0 : 1;
  }};
  std::thread other{[&] {
    for (int i = 0; i < 50; ++i) wrong += contribution(model, context_of(1, 1)) == second ? 0 : 1;
  }};
  for (int i = 0; i < 50; ++i) wrong += contribution(model, context_of(1)) == expected ? 0 : 1;
  other.join();
  done = true;
  evaluating.join();
  CHECK(wrong == 0);
}

TEST_CASE("TorchModel: evaluation uses the running statistics, drops nothing and computes no gradients", "[libtorch]") {
  bool with_gradients = true, training = true;
  struct Watching {
    using Example = Point;
    bool* with_gradients;
    bool* training;
    auto make() const { return std::make_shared<support::NormNet>(); }
    auto loss(support::NormNet& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
      return mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
    }
    auto evaluate(support::NormNet& net, const distrib::Batch<Point>& batch) const -> distrib::Metrics {
      *with_gradients = torch::GradMode::is_enabled();
      *training = net.is_training();
      return {batch.size(), {{"mse", loss(net, batch).item<double>()}}};
    }
  };
  const TorchModel model{Watching{&with_gradients, &training}};
  ModelMemory memory{model};
  const PointBatch data{8};
  const auto first = model.evaluate(data.batch, memory.values);
  CHECK(!with_gradients);
  CHECK(!training);
  CHECK(torch::GradMode::is_enabled());
  CHECK(first == model.evaluate(data.batch, memory.values));
  reinterpret_cast<float*>(memory.values.data(6))[0] += 1;  // running_mean
  CHECK(first != model.evaluate(data.batch, memory.values));
}

TEST_CASE("TorchModel: buffers that are averaged have their own updater", "[libtorch]") {
  const TorchModel model{PointTask<support::NormNet>{}};
  const auto updaters = model.updaters();
  REQUIRE(updaters.size() == 2);
  CHECK(updaters[0].first == "norm.running_mean");
  CHECK(updaters[1].first == "norm.running_var");
  CHECK(updaters[0].second.text() == distrib::AnyUpdater{distrib::Sgd{.learning_rate = 1.0F}}.text());
}

TEST_CASE("TorchModel: what a loss must not be", "[libtorch]") {
  const auto x = [](const distrib::Batch<Point>& batch) { return torch_tensor(batch.column(&Point::x)); };
  const auto good = [&](support::NormNet& net, const distrib::Batch<Point>& batch) {
    return mean_square(net.forward(x(batch)), batch);
  };
  CHECK(!failure_in(good));

  const auto vector = failure_in([&](auto& net, auto& batch) { return net.forward(x(batch)); });
  CHECK(vector.code == libtorch_errc::not_a_scalar);
  CHECK(vector.where == "loss() returned 8 elements");
  CHECK(failure_in([](auto&, auto&) { return torch::Tensor{}; }).code == libtorch_errc::not_a_scalar);
  CHECK(failure_in([&](auto& net, auto& batch) { return good(net, batch).detach(); }).code == libtorch_errc::no_graph);

  const auto clamped = failure_in([&](auto& net, auto& batch) {
    const torch::NoGradGuard no_grad;
    net.first->weight.clamp_(-0.1, 0.1);
    const torch::AutoGradMode grad{true};
    return good(net, batch);
  });
  CHECK(clamped.code == libtorch_errc::changed_parameter);
  CHECK(clamped.where == "parameter 'first.weight'");
  const auto unused = failure_in([&](auto& net, auto& batch) { return net.first(x(batch)).sum(); });
  CHECK(unused.code == libtorch_errc::no_gradient);
  CHECK(unused.where == "parameter 'norm.weight'");
  const auto twice = failure_in([&](auto& net, auto& batch) {
    good(net, batch).backward();
    return good(net, batch);
  });
  CHECK(twice.code == libtorch_errc::lost_gradient);
  CHECK(twice.where == "parameter 'first.weight'");
  const auto zeroed = failure_in([&](auto& net, auto& batch) {
    net.zero_grad();
    return good(net, batch);
  });
  CHECK(zeroed.code == libtorch_errc::lost_gradient);

  const auto changed =
      failure_in([&](auto& net, auto& batch) { return mean_square(net.forward(x(batch).div_(2)), batch); });
  CHECK(changed.code == libtorch_errc::changed_column);
  torch::Tensor kept;
  const auto keeping = failure_in([&](auto& net, auto& batch) {
    kept = x(batch);
    return mean_square(net.forward(kept), batch);
  });
  CHECK(keeping.code == libtorch_errc::kept_column);

  const auto shapes = failure_in([&](auto& net, auto& batch) { return net.forward(x(batch).t()).sum(); });
  CHECK(shapes.code == libtorch_errc::refused);
  CHECK_THAT(shapes.where, ContainsSubstring("mat1 and mat2 shapes cannot be multiplied (4x8 and 4x6)"));
  CHECK(shapes.where.size() < 200);
}

TEST_CASE("TorchModel: a contribution that fails leaves nothing behind", "[libtorch]") {
  bool fail = true;
  const TorchModel model{AnyLoss{[&](support::NormNet& net, const distrib::Batch<Point>& batch) {
    const auto loss = mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
    if (fail) throw std::runtime_error("stop");
    return loss;
  }}};
  const TorchModel same{AnyLoss{[](support::NormNet& net, const distrib::Batch<Point>& batch) {
    return mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
  }}};
  CHECK_THROWS_WITH(contribution(model, context_of(1)), "stop");
  fail = false;
  CHECK(contribution(model, context_of(1)) == contribution(same, context_of(1)));
}

TEST_CASE("TorchModel: a module that is said to draw nothing", "[libtorch]") {
  const auto good = [](auto& net, auto& batch) {
    return mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
  };
  CHECK(failure_in(good, {.draws_random = false}).code == libtorch_errc::drew_random);
  const TorchModel silent{PointTask<support::LineNet>{}, {.draws_random = false}};
  const TorchModel drawing{PointTask<support::LineNet>{}};
  CHECK(contribution(silent, context_of(1)) == contribution(drawing, context_of(1)));
}

TEST_CASE("TorchModel: bfloat16 where it is safe, float32 in variables", "[libtorch]") {
  torch::ScalarType seen{};
  const TorchModel model{AnyLoss{[&](support::NormNet& net, const distrib::Batch<Point>& batch) {
                           seen = net.first(torch_tensor(batch.column(&Point::x))).scalar_type();
                           return mean_square(net.forward(torch_tensor(batch.column(&Point::x))).to(torch::kFloat32),
                                              batch);
                         }},
                         {.autocast_bfloat16 = true}};
  const auto once = contribution(model, context_of(1));
  CHECK(seen == torch::kBFloat16);
  CHECK(torch::ones({2, 2}).mm(torch::ones({2, 2})).scalar_type() == torch::kFloat32);
  CHECK(contribution(model, context_of(1)) == once);
}

namespace {

struct HolderImpl : torch::nn::Module {
  HolderImpl() { line = register_module("line", torch::nn::Linear(4, 1)); }
  auto forward(const torch::Tensor& x) -> torch::Tensor { return line(x).squeeze(1); }
  torch::nn::Linear line{nullptr};
};
TORCH_MODULE(Holder);

template <class Argument> struct HolderTask {
  using Example = Point;
  auto make() const { return Holder{}; }
  auto loss(Argument& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    const auto x = torch_tensor(batch.column(&Point::x));
    if constexpr (std::is_same_v<Argument, Holder>) return mean_square(net->forward(x), batch);
    else return mean_square(net.forward(x), batch);
  }
};

// A module that is chosen at run time.
struct BaseTask {
  using Example = Point;
  auto make() const -> std::shared_ptr<torch::nn::Module> { return std::make_shared<HolderImpl>(); }
  auto loss(torch::nn::Module& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    return mean_square(net.as<HolderImpl>()->forward(torch_tensor(batch.column(&Point::x))), batch);
  }
};

struct SequentialTask {
  using Example = Point;
  auto make() const { return torch::nn::Sequential{torch::nn::Linear(4, 3), torch::nn::Linear(3, 1)}; }
  auto loss(torch::nn::Sequential& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    return mean_square(net->forward(torch_tensor(batch.column(&Point::x))).squeeze(1), batch);
  }
};

}  // namespace

TEST_CASE("TorchModel: holders, a base class, a sequence", "[libtorch]") {
  const auto expected = contribution(TorchModel{HolderTask<HolderImpl>{}}, context_of(1));
  CHECK(contribution(TorchModel{HolderTask<Holder>{}}, context_of(1)) == expected);
  CHECK(contribution(TorchModel{BaseTask{}}, context_of(1)) == expected);
  CHECK(contribution(TorchModel{SequentialTask{}}, context_of(1)).size() == 4);
}

namespace {

struct UserTask {
  using Example = Point;
  using Tables = distrib::VariableList<distrib::Embedding<"user", float, 3>>;
  auto make() const { return std::make_shared<torch::nn::LinearImpl>(3, 1); }
  auto tables() const -> Tables { return {{distrib::UniformInitializer{-1, 1}}}; }
  void lookups(const distrib::Batch<Point>& batch, distrib::Lookups<Tables>& lookups) const {
    for (const std::int64_t user : batch.column(&Point::user))
      distrib::get<"user">(lookups).push_back(static_cast<std::uint64_t>(user));
  }
  auto loss(torch::nn::LinearImpl& net, const distrib::Batch<Point>& batch,
            const distrib::TorchRows<Tables>& rows) const -> torch::Tensor {
    return mean_square(net.forward(distrib::get<"user">(rows)).squeeze(1), batch);
  }
  auto evaluate(torch::nn::LinearImpl& net, const distrib::Batch<Point>& batch,
                const distrib::TorchRows<Tables>& rows) const -> distrib::Metrics {
    return {batch.size(), {{"mse", loss(net, batch, rows).item<double>()}}};
  }
};

}  // namespace

TEST_CASE("TorchModel: tables", "[libtorch]") {
  const TorchModel model{UserTask{}};
  const auto variables = model.variables();
  REQUIRE(variables.table_infos().size() == 1);
  CHECK(variables.table_infos()[0].name == "user");
  CHECK(variables.infos().size() == 2);

  const PointBatch data{9};
  distrib::Lookups<distrib::RuntimeVariables> lookups{variables};
  model.lookups(data.batch, lookups);
  CHECK(lookups.keys(0) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 0, 1});

  ModelMemory memory{model};
  const std::vector<std::int64_t> index{0, 1, 2, 3, 4, 5, 6, 0, 1};
  memory.values.rows(0).resize(7, 3);
  memory.gradients.rows(0).resize(7, 3);
  for (std::size_t i = 0; i < 21; ++i) memory.values.rows(0).data()[i] = static_cast<float>(i) / 10;
  memory.values.set_index(0, index);
  memory.gradients.zero();
  const float loss = model.gradients(data.batch, std::as_const(memory.values), memory.gradients, context_of(1));
  CHECK(model.evaluate(data.batch, memory.values).means.at(0).second == Approx(loss));

  // A small step of one row against its gradient changes the loss by its square.
  const float* const slopes = std::as_const(memory.gradients).rows(0).data();
  float expected = 0;
  for (std::size_t i = 3; i < 6; ++i) {
    memory.values.rows(0).data()[i] -= 0.001F * slopes[i];
    expected -= 0.001F * slopes[i] * slopes[i];
  }
  const double changed = model.evaluate(data.batch, memory.values).means.at(0).second - static_cast<double>(loss);
  CHECK(changed == Approx(expected).epsilon(0.05));
  CHECK(expected < 0);
}

namespace {

template <class Task>
auto trainer_of(const Task& task, const std::string& file, const TorchOptions& options = {}) {
  const auto data = distrib::tfrecords(file).schema(support::point_x, support::point_y, support::point_user);
  return distrib::train(TorchModel{task, options})
      .with_data(data.shuffle(1).batch(8))
      .with_updater(distrib::Momentum{.learning_rate = 0.02F, .momentum = 0.9F})
      .with_hooks(distrib::StopAtStep{40}, distrib::Evaluate{data.batch(20)})
      .with_seed(3)
      .with_local_mode({.workers = 3});
}

struct PointFile {
  PointFile() { support::write_points(file, 200); }
  support::TempDirectory directory;
  std::string file = directory / "points.tfrecord";
};

// The text of a training that fails, with that of each error in it.
auto failure_of_training(const auto& builder) -> std::string {
  std::string text;
  const std::function<void(const std::exception&)> add = [&](const std::exception& error) {
    text += std::string{error.what()} + "\n";
    try {
      std::rethrow_if_nested(error);
    } catch (const std::exception& inner) {
      add(inner);
    }
  };
  try {
    auto trainer = builder.build();
    (void)trainer.run();
  } catch (const std::exception& error) {
    add(error);
  }
  return text;
}

}  // namespace

TEST_CASE("TorchModel: a job in one process has one hash, for any threads, shards and parts", "[libtorch]") {
  const PointFile data;
  const auto builder = trainer_of(PointTask<support::NormNet>{}, data.file);
  auto first = builder.build();
  REQUIRE(first.run() == 0);
  CHECK(first.result().metrics.find("mse").value_or(9) < 0.2);
  const std::string hash = first.result().parameters_sha256;
  CHECK(!hash.empty());

  distrib::IoPool pool{3};
  auto threads = builder.build(pool);
  CHECK(threads.run() == 0);
  CHECK(threads.result().parameters_sha256 == hash);
  CHECK(threads.result().metrics == first.result().metrics);
  auto shards = builder.with_local_mode({.workers = 3, .shards = 2})
                    .with_partitioner(distrib::FixedShardsPartitioner{2})
                    .build(pool);
  CHECK(shards.run() == 0);
  CHECK(shards.result().parameters_sha256 == hash);
  auto rounded = builder.with_wire_format(distrib::FloatFormat::bfloat16);
  auto once = rounded.build(pool), again = rounded.with_local_mode({.workers = 3, .shards = 2}).build();
  CHECK(once.run() == 0);
  CHECK(again.run() == 0);
  CHECK(once.result().parameters_sha256 == again.result().parameters_sha256);
  CHECK(once.result().parameters_sha256 != hash);
}

TEST_CASE("TorchModel: a cluster of real tasks ends with the bits of one process, tables too", "[libtorch]") {
  const PointFile data;
  const auto norm = trainer_of(PointTask<support::NormNet>{}, data.file);
  auto local = norm.build();
  CHECK(local.run() == 0);
  CHECK(loopback_cluster::run(norm, 2, 3).parameters_sha256 == local.result().parameters_sha256);
  const auto tables = trainer_of(UserTask{}, data.file);
  auto one = tables.build();
  CHECK(one.run() == 0);
  CHECK(loopback_cluster::run(tables, 3, 3).parameters_sha256 == one.result().parameters_sha256);
}

TEST_CASE("TorchModel: the same bits in a simulated cluster under faults", "[libtorch]") {
  const PointFile data;
  const auto builder = trainer_of(PointTask<support::NormNet>{}, data.file);
  auto local = builder.build();
  CHECK(local.run() == 0);
  unsigned deaths = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    const auto outcome = distrib::sim::run(builder, {.seed = seed, .directory = data.directory.path().string()});
    CHECK(outcome.wrong == "");
    CHECK(outcome.parameters_sha256 == local.result().parameters_sha256);
    deaths += outcome.deaths;
  }
  CHECK(deaths > 0);
}

TEST_CASE("TorchModel: running statistics are the mean of the ranks', batches are counted once a step", "[libtorch]") {
  const PointFile data;
  const std::string directory = data.directory / "checkpoint";
  auto trainer = trainer_of(PointTask<support::NormNet>{}, data.file)
                     .with_hooks(distrib::SaveCheckpoint{.directory = directory})
                     .build();
  CHECK(trainer.run() == 0);
  support::NormNet net;
  distrib::load(net, trainer.result().checkpoint);
  CHECK(net.norm->num_batches_tracked.item<std::int64_t>() == 40);

  // The module, loaded elsewhere, has the chief's metric.
  net.eval();
  const PointBatch all{200};
  const auto mse = PointTask<support::NormNet>{}.evaluate(net, all.batch).means.at(0).second;
  CHECK(trainer.result().metrics.find("mse").value_or(-1) == Approx(mse).epsilon(1e-4));
}

TEST_CASE("TorchModel: clipping leaves running statistics out, accumulation counts each batch", "[libtorch]") {
  const PointFile data;
  const auto trained = [&](const auto& builder) {
    const std::string directory = data.directory / "clipped";
    auto trainer = builder.with_hooks(distrib::SaveCheckpoint{.directory = directory}).build();
    CHECK(trainer.run() == 0);
    support::NormNet net;
    distrib::load(net, trainer.result().checkpoint);
    std::filesystem::remove_all(directory);
    return net;
  };
  // Parameters that do not move, so that the statistics are those of the first layer's initial values.
  torch::manual_seed(3);
  support::NormNet initial;
  const auto builder = trainer_of(PointTask<support::NormNet>{}, data.file)
                           .with_updater(distrib::Sgd{.learning_rate = 1.0F})
                           .with_gradient_clipping(distrib::ClipByNorm{1e-9F});
  const support::NormNet net = trained(builder);
  CHECK(torch::allclose(net.first->weight, initial.first->weight, 0, 1e-6));
  const PointBatch all{200};
  const auto mean = initial.first->forward(torch_tensor(all.batch.column(&Point::x))).mean(0);
  CHECK(torch::allclose(net.norm->running_mean, mean, 0.1, 0.05));
  const support::NormNet accumulated = trained(builder.with_gradient_accumulation(2));
  CHECK(accumulated.norm->num_batches_tracked.item<std::int64_t>() == 80);
}

TEST_CASE("TorchModel: an error names step, worker and tensor", "[libtorch]") {
  const PointFile data;
  const auto shapes = failure_of_training(trainer_of(
      AnyLoss{[](auto& net, auto& batch) { return net.forward(torch_tensor(batch.column(&Point::x)).t()).sum(); }},
      data.file));
  CHECK_THAT(shapes, ContainsSubstring("step 1 of worker 0 (batch 0): "));
  CHECK_THAT(shapes, ContainsSubstring("mat1 and mat2 shapes cannot be multiplied"));
  CHECK_THAT(shapes, !ContainsSubstring("frame #"));
  const auto infinite =
      failure_of_training(trainer_of(AnyLoss{[](auto& net, auto& batch) {
                                       return net.forward(torch_tensor(batch.column(&Point::x))).sum() * std::nanf("");
                                     }},
                                     data.file)
                              .with_check_numerics());
  CHECK_THAT(infinite, ContainsSubstring("first.weight") && ContainsSubstring("not finite"));
  const auto no_cuda = failure_of_training(
      trainer_of(PointTask<support::LineNet>{}, data.file, {.device = torch::Device{torch::kCUDA, 63}}));
  CHECK_THAT(no_cuda, ContainsSubstring("cuda:63: no CUDA: torch::cuda::is_available() is false"));
}

TEST_CASE("TorchModel: a parameter server never makes the module", "[libtorch]") {
  struct Unmakeable : PointTask<support::LineNet> {
    auto make() const -> std::shared_ptr<support::LineNet> { throw std::runtime_error("make() was called"); }
  };
  const PointFile data;
  const auto unmakeable = trainer_of(Unmakeable{}, data.file);
  CHECK_THROWS_WITH(unmakeable.build(), ContainsSubstring("make() was called"));

  distrib::ClusterFlags flags;
  flags.job_name = "ps";
  {
    asio::io_context context{1};
    const support::Acceptor free{context, support::loopback()};
    flags.ps_hosts = {"127.0.0.1:" + std::to_string(free.local_endpoint().port())};
  }
  flags.worker_hosts = {"127.0.0.1:1"};
  distrib::IoPool pool{2};
  auto ps = unmakeable.build(pool, flags);
  int code = -1;
  std::thread serving{[&] { code = ps.run(); }};
  flags.job_name = "worker";
  auto worker = trainer_of(PointTask<support::LineNet>{}, data.file).build(pool, flags);
  CHECK(worker.run() == 0);
  serving.join();
  CHECK(code == 0);
}

namespace {

// A backbone that is not trained stays in evaluation mode.
struct BackboneNet : torch::nn::Module {
  BackboneNet() {
    backbone = register_module("backbone", torch::nn::Sequential{torch::nn::Linear(4, 6), torch::nn::BatchNorm1d(6)});
    head = register_module("head", torch::nn::Linear(6, 1));
  }
  void train(bool on) override {
    torch::nn::Module::train(on);
    backbone->train(false);
  }
  auto forward(const torch::Tensor& x) -> torch::Tensor { return head(torch::tanh(backbone->forward(x))).squeeze(1); }

  torch::nn::Sequential backbone{nullptr};
  torch::nn::Linear head{nullptr};
};

struct BackboneTask {
  using Example = Point;
  std::string file;
  auto make() const {
    auto net = std::make_shared<BackboneNet>();
    distrib::load(*net->backbone, file);  // names as in the module that is loaded
    for (auto& parameter : net->backbone->parameters()) parameter.set_requires_grad(false);
    return net;
  }
  auto loss(BackboneNet& net, const distrib::Batch<Point>& batch) const -> torch::Tensor {
    return mean_square(net.forward(torch_tensor(batch.column(&Point::x))), batch);
  }
  auto evaluate(BackboneNet& net, const distrib::Batch<Point>& batch) const -> distrib::Metrics {
    return {batch.size(), {{"mse", loss(net, batch).item<double>()}}};
  }
};

struct TellStart {
  std::atomic<bool>* started;
  void on_start(const distrib::JobStart&) const {
    *started = true;
    started->notify_all();
  }
};

// Two workers train `task`. Before the second one another process wants to be it, with `other`: returns what that one
// is told.
template <class Task, class Other>
auto refusal_of_worker(const Task& task, const Other& other, const std::string& file) -> std::string {
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts.assign(2, "127.0.0.1:1");
  const distrib::ClusterSpec cluster{{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}};
  distrib::Server ps{pool, cluster, "ps", 0};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(ps.port())};
  std::atomic<bool> started{false};
  std::atomic<int> failed{0};
  std::thread chief{[&, of = flags] {
    auto trainer = trainer_of(task, file).with_hooks(TellStart{&started}).build(pool, of);
    failed += trainer.run();
  }};
  started.wait(false);
  flags.task_index = 1;
  std::string told;
  try {
    auto trainer = trainer_of(other, file).build(pool, flags);
    (void)trainer.run();
  } catch (const std::exception& error) {
    told = error.what();
  }
  auto second = trainer_of(task, file).build(pool, flags);
  failed += second.run();
  chief.join();
  CHECK(failed == 0);
  CHECK(ps.join() == 0);
  return told;
}

}  // namespace

TEST_CASE("TorchModel: a frozen backbone is a constant, a worker with another one is refused", "[libtorch]") {
  const PointFile data;
  const auto saved = [&](std::uint64_t seed) {
    torch::manual_seed(seed);
    std::string file = data.directory / ("backbone" + std::to_string(seed) + ".safetensors");
    distrib::save_safetensors(file, support::file_tensors_of(*BackboneNet{}.backbone));
    return file;
  };
  const BackboneTask task{saved(1)}, other{saved(2)};
  const TorchModel model{task};
  CHECK(support::names_of(model.variables().infos()) ==
        std::vector<std::string>{"head.weight", "head.bias", "backbone.1.running_mean", "backbone.1.running_var",
                                 "backbone.1.num_batches_tracked"});
  auto trainer = trainer_of(task, data.file).build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().metrics.find("mse").value_or(9) < 0.2);
  const std::string told = refusal_of_worker(task, other, data.file);
  CHECK_THAT(told, ContainsSubstring(model.describe()) && ContainsSubstring(TorchModel{other}.describe()));
}

TEST_CASE("TorchModel: a worker with another module is refused, and told the first difference", "[libtorch]") {
  const PointFile data;
  const std::string told = refusal_of_worker(PointTask<support::LineNet>{}, PointTask<support::NormNet>{}, data.file);
  CHECK_THAT(told, ContainsSubstring("own"));
}

TEST_CASE("TorchModel: a checkpoint of this job starts another one", "[libtorch]") {
  const PointFile data;
  const std::string directory = data.directory / "checkpoint";
  auto first = trainer_of(PointTask<support::NormNet>{}, data.file)
                   .with_hooks(distrib::SaveCheckpoint{.directory = directory})
                   .build();
  CHECK(first.run() == 0);
  auto second =
      trainer_of(PointTask<support::NormNet>{}, data.file).with_initial_checkpoint(first.result().checkpoint).build();
  CHECK(second.run() == 0);
  CHECK(second.result().metrics.find("mse").value_or(9) < first.result().metrics.find("mse").value_or(-9));
  const auto from_line =
      trainer_of(PointTask<support::LineNet>{}, data.file).with_initial_checkpoint(first.result().checkpoint);
  CHECK_THAT(failure_of_training(from_line), ContainsSubstring("own"));

  // What a name leaves out begins with the values of make().
  auto third = trainer_of(PointTask<support::NormNet>{}, data.file)
                   .with_updater(distrib::Sgd{.learning_rate = 0})
                   .with_seed(5)
                   .with_initial_checkpoint(first.result().checkpoint, {.names = {{"", "last."}}})
                   .with_hooks(distrib::SaveCheckpoint{.directory = data.directory / "third"})
                   .build();
  CHECK(third.run() == 0);
  support::NormNet before, after;
  torch::manual_seed(5);
  support::NormNet made;
  distrib::load(before, first.result().checkpoint);
  distrib::load(after, third.result().checkpoint);
  CHECK(torch::equal(after.first->weight, before.first->weight));
  CHECK(torch::equal(after.last->weight, made.last->weight));
  CHECK_FALSE(torch::equal(before.last->weight, made.last->weight));
}
