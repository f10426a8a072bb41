// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/evaluation.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_model.hpp"
#include "train/runtime_models.hpp"
#include "train/table_model.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace {

/// Calls `interrupt` in the middle of its first batch.
struct Interrupted : TableModel {
  mutable std::function<void()> interrupt;
  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    if (interrupt) std::exchange(interrupt, nullptr)();
    return TableModel::evaluate(batch, values);
  }
};

auto list_of(const auto& model) { return distrib::detail::run_time_list(model.variables()); }

// Returns values for which the prediction is the last digit of the user's key: rows of items are ones, and the sum of a
// user's row is that digit.
auto last_digits(const distrib::KeyLists& keys) -> distrib::Values<TableModel::Variables> {
  distrib::Values<TableModel::Variables> values{TableModel{}.variables()};
  for (std::size_t table = 0; table < 2; ++table) {
    values.rows(table).resize(keys[table].size(), 4);
    for (std::size_t i = 0; i < keys[table].size(); ++i)
      for (std::size_t j = 0; j < 4; ++j)
        values.rows(table).data()[4 * i + j] = table == 1 ? 1.0F : static_cast<float>(keys[0][i] % 10) / 4;
  }
  return values;
}

}  // namespace

TEST_CASE("Evaluation: each example once, the mean weighted by the sizes of the batches", "[train]") {
  const support::TempDirectory directory;
  const auto dataset = line_model::write(directory.path(), 100);
  const LineModel model;
  distrib::Values<LineModel::Variables> values{model.variables()};  // zeros: the error is y
  distrib::Evaluation by_30{model, list_of(model), dataset.batch(30).open()};
  distrib::Evaluation by_100{model, list_of(model), dataset.batch(100).open()};
  CHECK(by_30.keys().empty());
  CHECK(by_30(values).examples == 100);
  CHECK(*by_30(values).find("squared_error") == Approx(*by_100(values).find("squared_error")));
}

TEST_CASE("Evaluation: keys() are the keys of all its examples; it measures with their rows", "[train]") {
  const support::TempDirectory directory;
  const auto dataset = table_model::write(directory.path(), 90);
  const TableModel model;
  distrib::Evaluation evaluation{model, list_of(model), dataset.batch(7).open()};
  REQUIRE(evaluation.keys().size() == 2);
  for (const auto& keys : evaluation.keys()) {
    CHECK(std::ranges::is_sorted(keys));
    CHECK(std::ranges::adjacent_find(keys) == keys.end());
  }
  CHECK(evaluation.keys()[0].size() == 31);  // squares modulo 61
  CHECK(evaluation.keys()[1].size() == 40);

  auto values = last_digits(evaluation.keys());
  double squared = 0;
  const auto source = dataset.batch(90).open();
  distrib::Batch<TableModel::Example> batch;
  source.fill_in_order(0, batch);
  for (std::size_t i = 0; i < 90; ++i) {
    const auto error =
        static_cast<double>(static_cast<std::uint64_t>(batch[i].user) % 10) - static_cast<double>(batch[i].rating);
    squared += error * error / 90;
  }
  CHECK(*evaluation(values).find("squared_error") == Approx(squared));
}

TEST_CASE("Evaluation: two measurements at once do not affect each other", "[train]") {
  const support::TempDirectory directory;
  const auto dataset = table_model::write(directory.path(), 90);
  const Interrupted model;
  const distrib::Evaluation evaluation{model, list_of(model), dataset.batch(7).open()};
  auto values = last_digits(evaluation.keys());
  auto others = last_digits(evaluation.keys());
  const double expected = *evaluation(values).find("squared_error");
  double inner = 0;
  model.interrupt = [&] { inner = *evaluation(others).find("squared_error"); };
  CHECK(*evaluation(values).find("squared_error") == expected);
  CHECK(inner == expected);
}

TEST_CASE("Evaluation: a model whose list is known at run time is measured alike", "[train]") {
  const support::TempDirectory directory;
  const auto dataset = table_model::write(directory.path(), 90);
  const TableModel model;
  const RuntimeTableModel same;
  distrib::Evaluation expected{model, list_of(model), dataset.batch(7).open()};
  distrib::Evaluation evaluation{same, list_of(same), dataset.batch(7).open()};
  CHECK(evaluation.keys() == expected.keys());
  auto values = last_digits(expected.keys());
  const double measured = *expected(values).find("squared_error");
  CHECK(measured > 0);
  CHECK(*evaluation(values).find("squared_error") == measured);
  CHECK(values.index(0).empty());  // the lists of the measurement are gone
}
