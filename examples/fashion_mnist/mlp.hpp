// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fashion_example.hpp"

#include <distrib/core/variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/model.hpp>

// xtensor-blas with OpenBLAS; after distrib's headers, which make old xtensor fit for new clang.
#define HAVE_CBLAS 1
#include <xtensor-blas/xblas.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

/// A multilayer perceptron for 28 x 28 grey images in ten classes: 784 - 128 - 10, ReLU, softmax cross-entropy.
struct Mlp {
  static constexpr std::int64_t pixels = 784, hidden = 128, classes = 10;

  using Variables =
      distrib::VariableList<distrib::Variable<"hidden/weights", float, 2>, distrib::Variable<"hidden/bias", float, 1>,
                            distrib::Variable<"output/weights", float, 2>, distrib::Variable<"output/bias", float, 1>>;

  using Example = FashionExample;

  auto variables() const -> Variables {
    return {{{pixels, hidden}, distrib::GlorotUniformInitializer{}},
            {{hidden}},
            {{hidden, classes}, distrib::GlorotUniformInitializer{}},
            {{classes}}};
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const Matrix images = pixels_of(batch);
    const Matrix activations = hidden_layer(images, values);
    Matrix error = output_layer(activations, values);  // the logits; becomes d(loss)/d(logits)
    const float loss = softmax_cross_entropy(error, batch.column(&Example::label));

    auto output_weights = distrib::get<"output/weights">(gradients);
    auto output_bias = distrib::get<"output/bias">(gradients);
    xt::blas::gemm(activations, error, output_weights, true, false);
    sum_rows(error, output_bias);

    Matrix hidden_error = Matrix::from_shape({error.shape(0), std::size_t{hidden}});
    xt::blas::gemm(error, distrib::get<"output/weights">(values), hidden_error, false, true);
    for (std::size_t i = 0; i < hidden_error.size(); ++i)
      if (activations.data()[i] <= 0) hidden_error.data()[i] = 0;

    auto hidden_weights = distrib::get<"hidden/weights">(gradients);
    auto hidden_bias = distrib::get<"hidden/bias">(gradients);
    xt::blas::gemm(images, hidden_error, hidden_weights, true, false);
    sum_rows(hidden_error, hidden_bias);
    return loss;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    Matrix logits = output_layer(hidden_layer(pixels_of(batch), values), values);
    const auto labels = batch.column(&Example::label);
    double right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const float* row = &logits(i, 0);
      right += std::max_element(row, row + classes) - row == labels[i] ? 1 : 0;
    }
    const float loss = softmax_cross_entropy(logits, labels);
    return {labels.size(), {{"accuracy", right / static_cast<double>(labels.size())}, {"loss", loss}}};
  }

 private:
  using Matrix = xt::xtensor<float, 2, xt::layout_type::row_major>;

  static auto pixels_of(const distrib::Batch<Example>& batch) -> Matrix {
    const auto images = batch.column(&Example::image);
    Matrix scaled = Matrix::from_shape({images.size(), std::size_t{pixels}});
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].size() != pixels) throw std::invalid_argument("an image has not 28 x 28 pixels");
      std::transform(images[i].begin(), images[i].end(), &scaled(i, 0),
                     [](std::byte grey) { return static_cast<float>(grey) / 255.0F; });
    }
    return scaled;
  }

  static auto hidden_layer(const Matrix& images, const distrib::Values<Variables>& values) -> Matrix {
    Matrix out = affine(images, distrib::get<"hidden/weights">(values), distrib::get<"hidden/bias">(values));
    for (float& x : out.storage()) x = std::max(x, 0.0F);
    return out;
  }

  static auto output_layer(const Matrix& activations, const distrib::Values<Variables>& values) -> Matrix {
    return affine(activations, distrib::get<"output/weights">(values), distrib::get<"output/bias">(values));
  }

  static auto affine(const Matrix& in, const auto& weights, const auto& bias) -> Matrix {
    Matrix out = Matrix::from_shape({in.shape(0), weights.shape(1)});
    for (std::size_t i = 0; i < out.shape(0); ++i) std::copy(bias.begin(), bias.end(), &out(i, 0));
    xt::blas::gemm(in, weights, out, false, false, 1.0F, 1.0F);
    return out;
  }

  static void sum_rows(const Matrix& rows, auto& sums) {
    for (std::size_t i = 0; i < rows.shape(0); ++i)
      for (std::size_t j = 0; j < rows.shape(1); ++j) sums(j) += rows(i, j);
  }

  // Turns logits into the gradient of the mean loss with respect to them; returns the mean loss.
  static auto softmax_cross_entropy(Matrix& logits, std::span<const std::int64_t> labels) -> float {
    const auto scale = 1.0F / static_cast<float>(labels.size());
    float loss = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0 || labels[i] >= classes) throw std::invalid_argument("a label is not one of 0 .. 9");
      float* row = &logits(i, 0);
      const float highest = *std::max_element(row, row + classes);
      const auto label = static_cast<std::size_t>(labels[i]);
      float sum = 0;
      const float right = row[label] - highest;
      for (std::int64_t j = 0; j < classes; ++j) sum += row[j] = std::exp(row[j] - highest);
      loss += std::log(sum) - right;
      for (std::int64_t j = 0; j < classes; ++j) row[j] *= scale / sum;
      row[label] -= scale;
    }
    return loss * scale;
  }
};
