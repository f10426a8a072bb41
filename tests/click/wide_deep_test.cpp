// SPDX-License-Identifier: Apache-2.0
#include "examples/click/wide_deep.hpp"

#include "examples/click/generator.hpp"
#include "support/catch.hpp"

#include <distrib/core/philox.hpp>
#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

using Values = distrib::Values<WideDeep::Variables>;
using Gradients = distrib::Gradients<WideDeep::Variables>;
using Keys = distrib::Lookups<WideDeep::Variables>;

auto batch_of(const std::vector<ClickExample>& examples) -> distrib::Batch<ClickExample> {
  const auto schema = distrib::schema<ClickExample>(label_feature, numbers_feature, categories_feature);
  distrib::ExampleWriter encode{schema};
  std::vector<std::string> records;
  for (const ClickExample& example : examples) {
    const auto bytes = encode.write(example);
    records.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::vector<distrib::ByteView> views;
  for (const std::string& record : records) views.push_back(std::as_bytes(std::span{record}));
  distrib::Batch<ClickExample> batch;
  distrib::Error error;
  distrib::parse_examples(schema, std::span<const distrib::ByteView>{views}, batch, error);
  REQUIRE_FALSE(error);
  return batch;
}

auto generated(std::uint64_t count) -> std::vector<ClickExample> {
  const ClickGenerator generator{1};
  std::vector<ClickExample> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(generator(ClickGenerator::Split::train, i).example);
  return all;
}

/// Returns all elements of each variable, and of the rows of each table, by name.
template <class Block>
auto elements(Block& block) -> std::map<std::string, std::span<float>> {
  std::map<std::string, std::span<float>> all{
      {"wide/weights", {block.rows(0).data(), block.rows(0).count()}},
      {"deep/embeddings", {block.rows(1).data(), block.rows(1).count() * WideDeep::dim}}};
  const auto infos = WideDeep{}.variables().infos();
  for (std::size_t i = 0; i < infos.size(); ++i)
    all[infos[i].name] = {reinterpret_cast<float*>(block.data(i)), infos[i].size_bytes() / sizeof(float)};
  return all;
}

/// The values and gradients that a worker has for a batch. All values are random.
struct Held {
  explicit Held(const distrib::Batch<ClickExample>& batch) {
    Keys keys;
    WideDeep{}.lookups(batch, keys);
    std::map<std::uint64_t, std::int64_t> rows;
    for (const std::uint64_t key : keys.keys(1))
      row_of.push_back(rows.emplace(key, static_cast<std::int64_t>(rows.size())).first->second);
    for (const std::size_t table : {0U, 1U}) {
      values.rows(table).resize(rows.size(), table == 0 ? 1 : WideDeep::dim);
      gradients.rows(table).resize(rows.size(), table == 0 ? 1 : WideDeep::dim);
    }
    distrib::Philox random{9, 0, 0};
    for (const auto& [name, all] : elements(values))
      for (float& x : all) x = (distrib::uniform01(random()) - 0.5F) * 0.3F;
    set_index();
  }

  void set_index() {
    for (const std::size_t table : {0U, 1U}) values.set_index(table, row_of);
  }

  auto loss(const distrib::Batch<ClickExample>& batch) -> float {
    gradients.zero();
    return WideDeep{}.gradients(batch, values, gradients, {});
  }

  Values values{WideDeep{}.variables()};
  Gradients gradients{WideDeep{}.variables()};
  std::vector<std::int64_t> row_of;
};

}  // namespace

TEST_CASE("WideDeep: each pair of column and token has its own key", "[click]") {
  CHECK(WideDeep::key_of(0, -1) == 0);
  CHECK(WideDeep::key_of(0, 0) == 1);
  CHECK(WideDeep::key_of(25, 0xffffffff) == 0x1900'0001'0000'0000);
  CHECK(WideDeep::key_of(3, -5) >> 56 == 3);  // a number that is not a token stays in its column

  const auto examples = generated(3);
  Keys keys;
  WideDeep{}.lookups(batch_of(examples), keys);
  const auto& deep = distrib::get<"deep/embeddings">(keys);
  REQUIRE(deep.size() == 3 * 26);
  CHECK(distrib::get<"wide/weights">(keys) == deep);
  CHECK(deep[2 * 26 + 7] == WideDeep::key_of(7, examples[2].categories[7]));
}

TEST_CASE("WideDeep: a number is scaled to an eighth of its logarithm", "[click]") {
  CHECK(WideDeep::scaled(0) == 0);
  CHECK(WideDeep::scaled(-1) == 0);
  CHECK(WideDeep::scaled(1) == 0.125F);
  CHECK(WideDeep::scaled(255) == 1);
  float last = 0;
  for (float x = 0; x < 3e6F; x += 1 + x / 16) {
    CHECK(std::abs(WideDeep::scaled(x) - std::log2(1 + x) / 8) < 0.011F);  // linear in between
    CHECK(WideDeep::scaled(x) >= last);
    last = WideDeep::scaled(x);
  }
  for (const float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                        -std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
    CHECK(WideDeep::scaled(x) >= 0);
    CHECK(WideDeep::scaled(x) <= 17);
  }
}

TEST_CASE("WideDeep: gradients are the slopes of the loss", "[click]") {
  const auto batch = batch_of(generated(24));
  Held held{batch};
  CHECK(held.loss(batch) > 0.1F);
  std::map<std::string, std::vector<float>> gradients;
  for (const auto& [name, all] : elements(held.gradients)) gradients[name].assign(all.begin(), all.end());

  distrib::Philox random{4, 0, 0};
  for (const auto& [name, all] : elements(held.values)) {
    INFO(name);
    // Along the gradient of this variable, where the loss grows most; and along directions in which some signs are
    // reversed.
    for (const std::uint32_t turned : {0U, 4U, 3U}) {
      std::vector<float> direction = gradients[name];
      for (float& d : direction)
        if (turned != 0 && random() % turned == 0) d = -d;
      double slope = 0, length = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        slope += double{gradients[name][i]} * double{direction[i]};
        length += double{direction[i]} * double{direction[i]};
      }
      REQUIRE(length > 0);
      const auto step = static_cast<float>(0.002 / std::sqrt(length));
      const std::vector<float> before(all.begin(), all.end());
      const auto loss_at = [&](float by) {
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = before[i] + by * direction[i];
        return double{held.loss(batch)};
      };
      const double measured = (loss_at(step) - loss_at(-step)) / (2 * double{step});
      std::copy(before.begin(), before.end(), all.begin());
      CHECK(measured == Approx(slope).epsilon(0.01).margin(0.002 * length));
    }
  }
}

TEST_CASE("WideDeep: a value that occurs twice has one row, and both uses add to its gradient", "[click]") {
  auto examples = generated(1);
  const auto once = batch_of(examples);
  Held held{once};
  const float loss = held.loss(once);
  const float wide = distrib::get<"wide/weights">(held.gradients)(5, 0);
  const float deep = distrib::get<"deep/embeddings">(held.gradients)(5, 3);
  CHECK(wide != 0);
  CHECK(deep != 0);

  examples.push_back(examples[0]);
  held.row_of.insert(held.row_of.end(), held.row_of.begin(), held.row_of.begin() + WideDeep::columns);
  held.set_index();
  CHECK(held.loss(batch_of(examples)) == Approx(loss));
  CHECK(distrib::get<"wide/weights">(held.gradients)(5, 0) == Approx(wide));  // the mean: half of each example's
  CHECK(distrib::get<"deep/embeddings">(held.gradients)(5, 3) == Approx(deep));
}

TEST_CASE("WideDeep: evaluate returns log loss and AUC", "[click]") {
  auto examples = generated(40);
  const auto batch = batch_of(examples);
  Held held{batch};
  const auto metrics = WideDeep{}.evaluate(batch, held.values);
  CHECK(metrics.examples == 40);
  CHECK(*metrics.find("log_loss") == double{held.loss(batch)});
  const double auc = *metrics.find("auc");
  CHECK((auc > 0 && auc < 1));

  examples[0].label = 1 - examples[0].label;
  CHECK(*WideDeep{}.evaluate(batch_of(examples), held.values).find("auc") != auc);
  examples[0].label = 2;
  CHECK_THROWS_WITH(WideDeep{}.evaluate(batch_of(examples), held.values), ContainsSubstring("neither 0 nor 1"));
}
