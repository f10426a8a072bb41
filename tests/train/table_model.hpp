// SPDX-License-Identifier: Apache-2.0
// Fits ratings by the product of two embeddings: a model with a table of arbitrary keys and a table of numbered rows.
#pragma once

#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/sharding/virtual_shard.hpp>
#include <distrib/train/builder.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

struct TableModel {
  using Variables = distrib::VariableList<distrib::Embedding<"users", float, 4>, distrib::Variable<"bias", float, 1>,
                                          distrib::Embedding<"items", float, 4>>;
  struct Example {
    std::int64_t user = 0;
    std::int64_t item = 0;
    float rating = 0;
  };
  static constexpr std::uint64_t num_items = 40;
  std::uint32_t min_count = 1;
  std::uint64_t evict_after = 0;
  distrib::FloatFormat kept_as = distrib::FloatFormat::float32;
  std::uint32_t items_min_count = 1;
  std::uint64_t items_evict_after = 0;
  std::uint64_t max_rows = 0;
  std::uint64_t half_life = 0;

  auto variables() const -> Variables {
    return {{distrib::UniformInitializer{-0.5F, 0.5F},
             {.min_count = min_count,
              .evict_after = evict_after,
              .kept_as = kept_as,
              .max_rows = max_rows,
              .half_life = half_life}},
            {{1}},
            {distrib::UniformInitializer{-0.5F, 0.5F},
             {.rows = num_items, .min_count = items_min_count, .evict_after = items_evict_after, .kept_as = kept_as}}};
  }

  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      distrib::get<"users">(lookups).push_back(static_cast<std::uint64_t>(batch[i].user));
      distrib::get<"items">(lookups).push_back(static_cast<std::uint64_t>(batch[i].item));
    }
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const auto users = distrib::get<"users">(values);
    const auto items = distrib::get<"items">(values);
    auto of_users = distrib::get<"users">(gradients);
    auto of_items = distrib::get<"items">(gradients);
    const auto user_of = distrib::lookup_index<"users">(values);
    const auto item_of = distrib::lookup_index<"items">(values);
    const auto scale = 1.0F / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const float error = predict(i, values) - batch[i].rating;
      loss += scale * error * error;
      distrib::get<"bias">(gradients)(0) += 2 * scale * error;
      for (std::size_t j = 0; j < 4; ++j) {
        of_users(user_of[i], j) += 2 * scale * error * items(item_of[i], j);
        of_items(item_of[i], j) += 2 * scale * error * users(user_of[i], j);
      }
    }
    return loss;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    double squared = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto error = static_cast<double>(predict(i, values) - batch[i].rating);
      squared += error * error;
    }
    return {batch.size(), {{"squared_error", squared / static_cast<double>(batch.size())}}};
  }

 private:
  static auto predict(std::size_t i, const distrib::Values<Variables>& values) -> float {
    const auto users = distrib::get<"users">(values);
    const auto items = distrib::get<"items">(values);
    float sum = distrib::get<"bias">(values)(0);
    for (std::size_t j = 0; j < 4; ++j)
      sum += users(distrib::lookup_index<"users">(values)[i], j) * items(distrib::lookup_index<"items">(values)[i], j);
    return sum;
  }
};

namespace table_model {

inline auto schema() {
  return distrib::schema<TableModel::Example>(distrib::feature("user", &TableModel::Example::user),
                                              distrib::feature("item", &TableModel::Example::item),
                                              distrib::feature("rating", &TableModel::Example::rating));
}

/// `count` users that lie in three virtual shards.
inline auto crowded_users(std::size_t count) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> users;
  for (std::uint64_t key = 1; users.size() < count; ++key)
    if (distrib::virtual_shard(key) % 400 == 5) users.push_back(static_cast<std::int64_t>(key));
  return users;
}

/// Writes `records` ratings into three files of `directory` and returns the dataset that reads them. Ratings are by the
/// users that are given, if any, who come and go.
inline auto write(const std::filesystem::path& directory, std::size_t records = 600,
                  const std::vector<std::int64_t>& users = {}) {
  distrib::ExampleWriter encode{schema()};
  for (std::size_t file = 0; file < 3; ++file) {
    distrib::RecordWriter writer{directory / ("ratings-" + std::to_string(file))};
    for (std::size_t i = file * records / 3; i < (file + 1) * records / 3; ++i) {
      const auto user = static_cast<std::int64_t>(i * i % 61), item = static_cast<std::int64_t>(i * 37 % 40);
      const float rating = static_cast<float>(user % 5 - 2) * static_cast<float>(item % 3 - 1) * 0.5F + 0.25F;
      const std::int64_t key =
          users.empty() ? user * 0x1234'5678'9ABC - 7 : users[(i / 5 + static_cast<std::size_t>(user)) % users.size()];
      writer.append(encode.write({key, item, rating}));
    }
    writer.close();
  }
  return distrib::tfrecords((directory / "ratings-*").string()).schema(schema());
}

template <class Data, class M = TableModel>
auto builder(const Data& data, std::uint32_t workers, std::uint32_t shards, distrib::Step steps, M model = {}) {
  return distrib::train(std::move(model))
      .with_data(data.shuffle(3).batch(10))
      .with_updater(distrib::Adagrad{.learning_rate = 0.5F})
      .with_updater("items", distrib::Sgd{.learning_rate = 0.5F})
      .with_hooks(distrib::StopAtStep{steps}, distrib::Evaluate{data.batch(64), 20})
      .with_seed(11)
      .with_local_mode({.workers = workers, .shards = shards});
}

/// Writes down each evaluation.
struct Evaluations {
  std::vector<std::pair<distrib::Step, distrib::Metrics>>* all;
  void on_evaluated(const distrib::Evaluated& event) const { all->emplace_back(event.step, event.metrics); }
};

}  // namespace table_model
