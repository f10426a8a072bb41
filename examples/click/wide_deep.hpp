// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "click_example.hpp"

#include <distrib/core/same_math.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/matmul.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/model.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// Predicts clicks with a wide and a deep part, whose sum is the log-odds of a click (Cheng et al., "Wide & Deep
/// Learning for Recommender Systems", 2016). Wide: a weight for each value of each category and for each number, and a
/// bias. Deep: 26 embeddings of 16 elements and the numbers, through two hidden layers of 128 and 64, ReLU. The loss is
/// sigmoid cross-entropy. Its products and functions are the library's, so its bits are the same on every machine.
struct WideDeep {
  static constexpr std::size_t numbers = ClickExample::numbers_count, columns = ClickExample::categories_count;
  static constexpr std::size_t dim = 16, inputs = columns * dim + numbers, hidden1 = 128, hidden2 = 64;

  using Variables = distrib::VariableList<
      distrib::Embedding<"wide/weights", float, 1>, distrib::Variable<"wide/numbers", float, 1>,
      distrib::Variable<"wide/bias", float, 0>, distrib::Embedding<"deep/embeddings", float, dim>,
      distrib::Variable<"deep/hidden1/weights", float, 2>, distrib::Variable<"deep/hidden1/bias", float, 1>,
      distrib::Variable<"deep/hidden2/weights", float, 2>, distrib::Variable<"deep/hidden2/bias", float, 1>,
      distrib::Variable<"deep/output/weights", float, 2>>;

  using Example = ClickExample;

  /// How many contributions must contain a value before it gets a weight and an embedding.
  std::uint32_t min_count = 1;
  std::uint64_t max_rows = 0;  // of each table; 0: as many as there are values
  std::uint64_t half_life = 0;  // after this many steps a use counts as half a use

  auto variables() const -> Variables {
    return {{distrib::ZerosInitializer{}, {.min_count = min_count, .max_rows = max_rows, .half_life = half_life}},
            {{numbers}},
            {{}},
            {distrib::UniformInitializer{-0.05F, 0.05F},
             {.min_count = min_count, .max_rows = max_rows, .half_life = half_life}},
            {{inputs, hidden1}, distrib::GlorotUniformInitializer{}},
            {{hidden1}},
            {{hidden1, hidden2}, distrib::GlorotUniformInitializer{}},
            {{hidden2}},
            {{hidden2, 1}, distrib::GlorotUniformInitializer{}}};
  }

  auto describe() const -> std::string { return "distrib"; }

  /// Returns the key of a value: its column (0 .. 25) in the upper 8 bits; token + 1 in the other bits, or 0 if the
  /// token is missing (-1). So the tokens of 32 bits of different columns never have the same key.
  static constexpr auto key_of(std::size_t column, std::int64_t token) -> std::uint64_t {
    return std::uint64_t{column} << 56 | ((static_cast<std::uint64_t>(token) + 1) & 0xffffffffffffff);
  }

  /// Returns a number as the model uses it: an eighth of log2(1 + x), linear between powers of two; so it needs no
  /// libm, which differs between machines. 0 if x is negative, or missing. At most 17, for any x.
  static auto scaled(float x) -> float {
    if (x < 0) return 0;
    const auto bits = std::bit_cast<std::uint32_t>(1 + x) & 0x7fffffff;
    return static_cast<float>(static_cast<std::int32_t>(bits) - 0x3f800000) * 0x1p-26F;
  }

  /// Appends one key for each position to the lists of both tables: the value of column c in example i is at i * 26 +
  /// c.
  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (auto* keys : {&distrib::get<"wide/weights">(lookups), &distrib::get<"deep/embeddings">(lookups)})
      for (const auto& tokens : batch.column(&Example::categories))
        for (std::size_t c = 0; c < columns; ++c) keys->push_back(key_of(c, tokens[c]));
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    Pass pass = forward(batch, values);
    const auto labels = batch.column(&Example::label);
    const float loss = log_loss(pass.logits, labels);

    const auto share = 1.0F / static_cast<float>(labels.size());
    Matrix error = Matrix::from_shape({labels.size(), 1});  // d(loss)/d(logits)
    for (std::size_t i = 0; i < labels.size(); ++i)
      error(i, 0) = (probability(pass.logits[i]) - static_cast<float>(labels[i])) * share;

    const std::span<const std::int64_t> wide_row = distrib::lookup_index<"wide/weights">(values);
    auto wide = distrib::get<"wide/weights">(gradients);
    auto wide_numbers = distrib::get<"wide/numbers">(gradients);
    auto bias = distrib::get<"wide/bias">(gradients);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t c = 0; c < columns; ++c) wide(row(wide_row, i, c), 0) += error(i, 0);
      for (std::size_t j = 0; j < numbers; ++j) wide_numbers(j) += error(i, 0) * pass.input(i, columns * dim + j);
      bias() += error(i, 0);
    }

    auto output_weights = distrib::get<"deep/output/weights">(gradients);
    error = back(pass.second, error, distrib::get<"deep/output/weights">(values), output_weights);
    drop_where_zero(error, pass.second);
    auto second_weights = distrib::get<"deep/hidden2/weights">(gradients);
    auto second_bias = distrib::get<"deep/hidden2/bias">(gradients);
    sum_rows(error, second_bias);
    error = back(pass.first, error, distrib::get<"deep/hidden2/weights">(values), second_weights);
    drop_where_zero(error, pass.first);
    auto first_weights = distrib::get<"deep/hidden1/weights">(gradients);
    auto first_bias = distrib::get<"deep/hidden1/bias">(gradients);
    sum_rows(error, first_bias);
    error = back(pass.input, error, distrib::get<"deep/hidden1/weights">(values), first_weights);

    const std::span<const std::int64_t> deep_row = distrib::lookup_index<"deep/embeddings">(values);
    auto embeddings = distrib::get<"deep/embeddings">(gradients);
    for (std::size_t i = 0; i < labels.size(); ++i)
      for (std::size_t c = 0; c < columns; ++c)
        for (std::size_t j = 0; j < dim; ++j) embeddings(row(deep_row, i, c), j) += error(i, c * dim + j);
    return loss;
  }

  /// Returns the probability of a click for each example.
  auto predict(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> std::vector<float> {
    std::vector<float> clicks = forward(batch, values).logits;
    std::ranges::transform(clicks, clicks.begin(), probability);
    return clicks;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    const Pass pass = forward(batch, values);
    const auto labels = batch.column(&Example::label);
    distrib::RocAuc auc{1001};
    for (std::size_t i = 0; i < labels.size(); ++i) auc.add(probability(pass.logits[i]), labels[i] == 1);
    return {labels.size(), {{"log_loss", log_loss(pass.logits, labels)}}, {{"auc", auc}}};
  }

 private:
  using Matrix = xt::xtensor<float, 2, xt::layout_type::row_major>;

  /// The activations of a batch.
  struct Pass {
    Matrix input, first, second;  // a row for each example
    std::vector<float> logits;
  };

  static auto forward(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) -> Pass {
    const auto raw = batch.column(&Example::numbers);
    const auto embeddings = distrib::get<"deep/embeddings">(values);
    const std::span<const std::int64_t> deep_row = distrib::lookup_index<"deep/embeddings">(values);
    Pass pass{Matrix::from_shape({batch.size(), inputs}), {}, {}, std::vector<float>(batch.size())};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      float* const to = &pass.input(i, 0);
      for (std::size_t c = 0; c < columns; ++c) std::copy_n(&embeddings(row(deep_row, i, c), 0), dim, to + c * dim);
      std::transform(raw[i].begin(), raw[i].end(), to + columns * dim, scaled);
    }
    pass.first =
        hidden(pass.input, distrib::get<"deep/hidden1/weights">(values), distrib::get<"deep/hidden1/bias">(values));
    pass.second =
        hidden(pass.first, distrib::get<"deep/hidden2/weights">(values), distrib::get<"deep/hidden2/bias">(values));
    Matrix deep = Matrix::from_shape({batch.size(), 1});
    distrib::matmul(pass.second, distrib::get<"deep/output/weights">(values), deep);

    const auto wide = distrib::get<"wide/weights">(values);
    const auto wide_numbers = distrib::get<"wide/numbers">(values);
    const float bias = distrib::get<"wide/bias">(values)();
    const std::span<const std::int64_t> wide_row = distrib::lookup_index<"wide/weights">(values);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      float sum = bias;
      for (std::size_t c = 0; c < columns; ++c) sum += wide(row(wide_row, i, c), 0);
      for (std::size_t j = 0; j < numbers; ++j) sum += wide_numbers(j) * pass.input(i, columns * dim + j);
      pass.logits[i] = sum + deep(i, 0);
    }
    return pass;
  }

  // Returns the number of the row of column `c` in example `i`, among the rows that were looked up.
  static auto row(std::span<const std::int64_t> rows, std::size_t i, std::size_t c) -> std::size_t {
    return static_cast<std::size_t>(rows[i * columns + c]);
  }

  static auto hidden(const Matrix& in, const auto& weights, const auto& bias) -> Matrix {
    Matrix out = Matrix::from_shape({in.shape(0), weights.shape(1)});
    for (std::size_t i = 0; i < out.shape(0); ++i) std::copy(bias.begin(), bias.end(), &out(i, 0));
    distrib::matmul_add(in, weights, out);
    for (float& x : out.storage()) x = std::max(x, 0.0F);
    return out;
  }

  // Writes the gradient of a layer's weights; returns the gradient of its input.
  static auto back(const Matrix& in, const Matrix& error, const auto& weights, auto& weight_gradients) -> Matrix {
    distrib::matmul(distrib::transposed(in), error, weight_gradients);
    Matrix in_error = Matrix::from_shape({in.shape(0), in.shape(1)});
    distrib::matmul(error, distrib::transposed(weights), in_error);
    return in_error;
  }

  static void drop_where_zero(Matrix& error, const Matrix& activations) {
    for (std::size_t i = 0; i < error.size(); ++i)
      if (activations.data()[i] <= 0) error.data()[i] = 0;
  }

  static void sum_rows(const Matrix& rows, auto& sums) {
    for (std::size_t i = 0; i < rows.shape(0); ++i)
      for (std::size_t j = 0; j < rows.shape(1); ++j) sums(j) += rows(i, j);
  }

  static auto probability(float logit) -> float { return distrib::same_sigmoid(logit); }

  // Returns the mean of -log(probability of the label).
  static auto log_loss(const std::vector<float>& logits, std::span<const std::int64_t> labels) -> float {
    float sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] != 0 && labels[i] != 1) throw std::invalid_argument("a label is neither 0 nor 1");
      const float wrong = labels[i] == 1 ? -logits[i] : logits[i];
      sum += std::max(wrong, 0.0F) + distrib::same_log1p(distrib::same_exp(-std::abs(wrong)));
    }
    return sum / static_cast<float>(labels.size());
  }
};
