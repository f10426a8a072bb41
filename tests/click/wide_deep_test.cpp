// SPDX-License-Identifier: Apache-2.0
#include "examples/click/wide_deep.hpp"

#include "examples/click/exact_auc.hpp"
#include "examples/click/generator.hpp"
#include "support/catch.hpp"

#include <distrib/core/fixed_string.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/example_parser.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using Dense = distrib::VariableList<
    distrib::Variable<"wide/numbers", float, 1>, distrib::Variable<"wide/bias", float, 0>,
    distrib::Variable<"deep/hidden1/weights", float, 2>, distrib::Variable<"deep/hidden1/bias", float, 1>,
    distrib::Variable<"deep/hidden2/weights", float, 2>, distrib::Variable<"deep/hidden2/bias", float, 1>,
    distrib::Variable<"deep/output/weights", float, 2>>;

auto dense() -> Dense { return {{{13}}, {{}}, {{429, 128}}, {{128}}, {{128, 64}}, {{64}}, {{64, 1}}}; }

struct Keys {
  std::vector<std::uint64_t> wide, deep;
};
template <distrib::FixedString Name>
auto get(Keys& keys) -> std::vector<std::uint64_t>& {
  return Name.view() == "wide/weights" ? keys.wide : keys.deep;
}

template <template <class> class Block>
struct Parameters {
  Block<Dense> dense{::dense()};
  xt::xtensor<float, 2> wide, deep;
  std::vector<std::int64_t> row_of;

  void rows(std::size_t count) {
    wide = xt::zeros<float>({count, std::size_t{1}});
    deep = xt::zeros<float>({count, std::size_t{16}});
  }
};
template <distrib::FixedString Name>
auto get(auto& p)
  requires requires { p.row_of; }
{
  const auto view = [](auto& rows) {
    return distrib::tensor_view<2>(rows.data(), distrib::Shape{static_cast<std::int64_t>(rows.shape(0)),
                                                               static_cast<std::int64_t>(rows.shape(1))});
  };
  if constexpr (Name.view() == "wide/weights") return view(p.wide);
  else if constexpr (Name.view() == "deep/embeddings") return view(p.deep);
  else return distrib::get<Name>(p.dense);
}
template <distrib::FixedString Name, template <class> class Block>
auto lookup_index(const Parameters<Block>& p) -> std::span<const std::int64_t> {
  return p.row_of;
}

using Values = Parameters<distrib::Values>;
using Gradients = Parameters<distrib::Gradients>;

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

/// All elements of one variable, for a test that changes them.
template <template <class> class Block>
auto elements(Parameters<Block>& p) -> std::map<std::string, std::span<float>> {
  std::map<std::string, std::span<float>> all{{"wide/weights", {p.wide.data(), p.wide.size()}},
                                              {"deep/embeddings", {p.deep.data(), p.deep.size()}}};
  const auto infos = dense().infos();
  for (std::size_t i = 0; i < infos.size(); ++i)
    all[infos[i].name] = {reinterpret_cast<float*>(p.dense.data(i)), infos[i].size_bytes() / sizeof(float)};
  return all;
}

/// Values for this batch, everything random.
auto values_for(const distrib::Batch<ClickExample>& batch) -> Values {
  Keys keys;
  WideDeep{}.lookups(batch, keys);
  std::map<std::uint64_t, std::int64_t> rows;
  Values values;
  for (const std::uint64_t key : keys.deep)
    values.row_of.push_back(rows.emplace(key, static_cast<std::int64_t>(rows.size())).first->second);
  values.rows(rows.size());
  distrib::Philox random{9, 0, 0};
  for (const auto& [name, all] : elements(values))
    for (float& x : all) x = (distrib::uniform01(random()) - 0.5F) * 0.3F;
  return values;
}

}  // namespace

TEST_CASE("WideDeep: a key for each column and token", "[click]") {
  CHECK(WideDeep::key_of(0, -1) == 0);
  CHECK(WideDeep::key_of(0, 0) == 1);
  CHECK(WideDeep::key_of(25, 0xffffffff) == 0x1900'0001'0000'0000);
  CHECK(WideDeep::key_of(3, -5) >> 56 == 3);  // what no token is stays in its column

  const auto examples = generated(3);
  Keys keys;
  WideDeep{}.lookups(batch_of(examples), keys);
  REQUIRE(keys.deep.size() == 3 * 26);
  CHECK(keys.wide == keys.deep);
  CHECK(keys.deep[2 * 26 + 7] == WideDeep::key_of(7, examples[2].categories[7]));
}

TEST_CASE("WideDeep: numbers by an eighth of their logarithm", "[click]") {
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
  Values values = values_for(batch);
  Gradients gradients;
  gradients.rows(values.deep.shape(0));
  const WideDeep model;
  const float loss = model.gradients(batch, values, gradients, {});
  CHECK(loss > 0.1F);

  Gradients unused;
  unused.rows(values.deep.shape(0));
  const auto loss_at = [&] { return double{model.gradients(batch, values, unused, {})}; };
  distrib::Philox random{4, 0, 0};
  auto of = elements(gradients);
  for (const auto& [name, all] : elements(values)) {
    INFO(name);
    // Along the gradient of this variable alone, where the loss grows most; and where the signs of some are turned.
    for (const std::uint32_t turned : {0U, 4U, 3U}) {
      std::vector<float> direction(of[name].begin(), of[name].end());
      for (float& d : direction)
        if (turned != 0 && random() % turned == 0) d = -d;
      double slope = 0, length = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        slope += double{of[name][i]} * double{direction[i]};
        length += double{direction[i]} * double{direction[i]};
      }
      REQUIRE(length > 0);
      const auto step = static_cast<float>(0.002 / std::sqrt(length));
      const std::vector<float> before(all.begin(), all.end());
      const auto at = [&](float by) {
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = before[i] + by * direction[i];
        return loss_at();
      };
      const double measured = (at(step) - at(-step)) / (2 * double{step});
      std::copy(before.begin(), before.end(), all.begin());
      CHECK(measured == Approx(slope).epsilon(0.01).margin(0.002 * length));
    }
  }
}

TEST_CASE("WideDeep: a value that comes twice has one row, and both add to its gradient", "[click]") {
  auto examples = generated(1);
  const auto once = batch_of(examples);
  Values values = values_for(once);
  Gradients one;
  one.rows(values.deep.shape(0));
  const float loss = WideDeep{}.gradients(once, values, one, {});

  examples.push_back(examples[0]);
  const auto twice = batch_of(examples);
  values.row_of.insert(values.row_of.end(), values.row_of.begin(), values.row_of.end());
  Gradients two;
  two.rows(values.deep.shape(0));
  CHECK(WideDeep{}.gradients(twice, values, two, {}) == Approx(loss));
  CHECK(two.wide(5, 0) == Approx(one.wide(5, 0)));  // of the mean: half of each
  CHECK(two.deep(5, 3) == Approx(one.deep(5, 3)));
}

TEST_CASE("WideDeep: evaluate tells log loss and AUC of all batches", "[click]") {
  auto examples = generated(40);
  const auto batch = batch_of(examples);
  const Values values = values_for(batch);
  const auto metrics = WideDeep{}.evaluate(batch, values);
  CHECK(metrics.examples == 40);
  Gradients gradients;
  gradients.rows(values.deep.shape(0));
  CHECK(*metrics.find("log_loss") == double{WideDeep{}.gradients(batch, values, gradients, {})});
  const double auc = *metrics.find("auc");
  CHECK((auc > 0 && auc < 1));

  examples[0].label = 1 - examples[0].label;
  CHECK(*WideDeep{}.evaluate(batch_of(examples), values).find("auc") != auc);
  examples[0].label = 2;
  CHECK_THROWS_WITH(WideDeep{}.evaluate(batch_of(examples), values), ContainsSubstring("neither 0 nor 1"));
}
