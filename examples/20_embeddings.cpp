// SPDX-License-Identifier: Apache-2.0
// Ratings of films by users, learned as the product of two embeddings; then a row is read from the checkpoint.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>

struct Ratings {
  // Users are arbitrary 64-bit numbers; films are numbered 0 .. 49.
  using Variables = distrib::VariableList<distrib::Variable<"mean", float, 1>, distrib::Embedding<"users", float, 4>,
                                          distrib::Embedding<"films", float, 4>>;
  struct Example {
    std::int64_t user;
    std::int64_t film;
    float stars;
  };
  auto variables() const -> Variables {
    const distrib::UniformInitializer small{-0.5F, 0.5F};
    return {{{1}}, {small, {.min_count = 2}}, {small, {.rows = 50}}};
  }

  // Lists the keys that a batch needs, in any order: here one per example.
  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      distrib::get<"users">(lookups).push_back(static_cast<std::uint64_t>(batch[i].user));
      distrib::get<"films">(lookups).push_back(static_cast<std::uint64_t>(batch[i].film));
    }
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const auto users = distrib::get<"users">(values);               // [unique users of the batch, 4]
    const auto user_of = distrib::lookup_index<"users">(values);    // the row of each key that was looked up
    auto d_users = distrib::get<"users">(gradients);                // the gradient of each of these rows
    const auto films = distrib::get<"films">(values);
    const auto film_of = distrib::lookup_index<"films">(values);
    auto d_films = distrib::get<"films">(gradients);
    auto d_mean = distrib::get<"mean">(gradients);
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto u = user_of[i], f = film_of[i];
      float error = distrib::get<"mean">(values)(0) - batch[i].stars;
      for (std::size_t j = 0; j < 4; ++j) error += users(u, j) * films(f, j);
      for (std::size_t j = 0; j < 4; ++j) {
        d_users(u, j) += 2 * error * films(f, j) * share;
        d_films(f, j) += 2 * error * users(u, j) * share;
      }
      d_mean(0) += 2 * error * share;
      loss += error * error * share;
    }
    return loss;
  }
};

constexpr auto user = distrib::feature("user", &Ratings::Example::user);
constexpr auto film = distrib::feature("film", &Ratings::Example::film);
constexpr auto stars = distrib::feature("stars", &Ratings::Example::stars);

void write_data(const std::string& file) {
  distrib::ExampleWriter example{distrib::schema<Ratings::Example>(user, film, stars)};
  distrib::RecordWriter writer{file};
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t who = i * i % 71, what = i * 37 % 50;
    const auto liked = static_cast<float>((who % 3 - 1) * (what % 5 - 2));  // tastes and kinds
    writer.append(example.write({who * 1'000'000'007, what, 3 + liked}));
  }
  writer.close();
}

auto main() -> int try {
  write_data("20_embeddings.tfrecord");
  distrib::IoPool pool{2};
  auto trainer =
      distrib::train(Ratings{})
          .with_data(distrib::tfrecords("20_embeddings.tfrecord").schema(user, film, stars).shuffle(1).batch(50))
          .with_updater(distrib::Adagrad{.learning_rate = 0.5F})
          .with_hooks(distrib::StopAtStep{300}, distrib::SaveCheckpoint{.directory = "20_embeddings.out"})
          .with_local_mode({.workers = 3, .shards = 2})
          .build(pool);
  const int code = trainer.run();
  const bool learnt = trainer.result().loss < 0.05F;
  std::printf("%s\n", learnt ? "learnt" : "not learnt");

  // The films are one tensor. The users, whose keys are not numbered, are tensors of each shard.
  const auto checkpoint = distrib::BundleReader::open(trainer.result().checkpoint);
  for (const distrib::StoredTensor& tensor : checkpoint.tensors())
    if (tensor.name.starts_with("films") || tensor.name.starts_with("users/shard-00000"))
      std::printf("%s\n", tensor.name.c_str());
  std::filesystem::remove_all("20_embeddings.out");
  std::filesystem::remove("20_embeddings.tfrecord");
  return code == 0 && learnt ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
