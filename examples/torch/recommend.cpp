// SPDX-License-Identifier: Apache-2.0
// A recommender with two towers: ratings of films by users. The rows of users and films are in tables of distrib, whose
// keys are any 64-bit numbers; the towers above them are a module of LibTorch.
//
//     torch_recommend OUT            trains in one process, or as a task of a cluster (distrib launch ... -- torch_recommend OUT)
//     torch_recommend OUT --generate writes OUT/train.tfrecord and OUT/test.tfrecord
#include <distrib/cluster/launched_task.hpp>
#include <distrib/ecosystem.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/libtorch.hpp>
#include <distrib/record/record_writer.hpp>

#include <torch/nn/modules/linear.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Rating {
  std::int64_t user, film;
  float stars;
};
constexpr auto user_feature = distrib::feature("user", &Rating::user);
constexpr auto film_feature = distrib::feature("film", &Rating::film);
constexpr auto stars_feature = distrib::feature("stars", &Rating::stars);

struct Towers : torch::nn::Module {
  Towers() {
    user = register_module("user", torch::nn::Linear(16, 16));
    film = register_module("film", torch::nn::Linear(16, 16));
    mean = register_parameter("mean", torch::full({}, 3.0));
  }
  auto forward(const torch::Tensor& users, const torch::Tensor& films) -> torch::Tensor {
    return (torch::tanh(user(users)) * torch::tanh(film(films))).sum(1) + mean;
  }
  torch::nn::Linear user{nullptr}, film{nullptr};
  torch::Tensor mean;
};

struct Ratings {
  using Example = Rating;
  using Tables = distrib::VariableList<distrib::Embedding<"users", float, 16>, distrib::Embedding<"films", float, 16>>;

  auto tables() const -> Tables {
    return {{distrib::UniformInitializer{-0.5F, 0.5F}}, {distrib::UniformInitializer{-0.5F, 0.5F}}};
  }
  void lookups(const distrib::Batch<Rating>& batch, distrib::Lookups<Tables>& lookups) const {
    for (const auto key : batch.column(&Rating::user))
      distrib::get<"users">(lookups).push_back(static_cast<std::uint64_t>(key));
    for (const auto key : batch.column(&Rating::film))
      distrib::get<"films">(lookups).push_back(static_cast<std::uint64_t>(key));
  }

  auto make() const { return std::make_shared<Towers>(); }
  auto loss(Towers& net, const distrib::Batch<Rating>& batch, const distrib::TorchRows<Tables>& rows) const
      -> torch::Tensor {
    const auto stars = distrib::torch_tensor(batch.column(&Rating::stars));
    return torch::mse_loss(net.forward(distrib::get<"users">(rows), distrib::get<"films">(rows)), stars);
  }
  auto evaluate(Towers& net, const distrib::Batch<Rating>& batch, const distrib::TorchRows<Tables>& rows) const
      -> distrib::Metrics {
    return {batch.size(), {{"mse", loss(net, batch, rows).item<double>()}}};
  }
};

// Users and films have two tastes each, and the stars are how well these agree.
void generate(const std::string& file, std::uint64_t seed, int count) {
  distrib::ExampleWriter example{distrib::schema<Rating>(user_feature, film_feature, stars_feature)};
  distrib::RecordWriter writer{file};
  distrib::Philox random{seed, 0, 0};
  const auto taste = [](std::uint64_t of, std::uint64_t which) {
    return std::sin(static_cast<float>(of * 7 + which * 3));
  };
  for (int i = 0; i < count; ++i) {
    const std::uint64_t user = random() % 500, film = random() % 200;
    const float agreement = taste(user, 0) * taste(film, 5) + taste(user, 1) * taste(film, 6);
    writer.append(example.write(
        {static_cast<std::int64_t>(user * 1'000'000'007), static_cast<std::int64_t>(film), 3 + agreement}));
  }
  writer.close();
}

auto main(int argc, char** argv) -> int try {
  std::vector<std::string> rest;
  const auto task = distrib::LaunchedTask::find(argc, argv, rest);
  if (rest.empty()) throw std::invalid_argument("usage: torch_recommend OUT [--generate]");
  const std::string out = rest[0];
  if (rest.size() > 1 && rest[1] == "--generate")
    return generate(out + "/train.tfrecord", 1, 100'000), generate(out + "/test.tfrecord", 2, 5'000), 0;
  const auto read = [&](const char* name) {
    return distrib::tfrecords(out + name).schema(user_feature, film_feature, stars_feature);
  };
  distrib::IoPool pool{2};
  auto trainer = distrib::train(distrib::TorchModel{Ratings{}})
                     .with_data(read("/train.tfrecord").shuffle(1).batch(256))
                     .with_updater(distrib::Adagrad{.learning_rate = 0.1F})
                     .with_hooks(distrib::StopAtStep{1500}, distrib::SaveCheckpoint{.directory = out + "/checkpoint"},
                                 distrib::Evaluate{read("/test.tfrecord").batch(500)}, distrib::ShowProgress{})
                     .with_seed(1)
                     .with_local_mode({.workers = 3})
                     .build(pool, task.flags);
  const int code = trainer.run();
  if ((task.flags.local() || task.flags.is_chief()) && trainer.result().steps != 0)
    distrib::write_result_json(out + "/summary.json", trainer.result(), "");
  return task.exit_code(code);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}
