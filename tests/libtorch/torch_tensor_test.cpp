// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_tensor.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/nets.hpp"

#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/example/padded.hpp>
#include <distrib/example/schema.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

using distrib::libtorch_errc;
using distrib::torch_tensor;
using support::failure_of;

namespace {

struct Sample {
  std::span<const std::byte> image;
  std::int64_t label;
  std::array<std::array<float, 3>, 2> grid;
  std::span<const std::int64_t> words;
};

constexpr auto image = distrib::feature("image", &Sample::image);
constexpr auto label = distrib::feature("label", &Sample::label);
constexpr auto grid = distrib::feature("grid", &Sample::grid);
constexpr auto words = distrib::feature("words", &Sample::words);

// A batch of records with images of `bytes` bytes.
struct SampleBatch {
  explicit SampleBatch(std::size_t count, std::size_t bytes = 6) {
    distrib::ExampleWriter writer{distrib::schema<Sample>(image, label, grid, words)};
    std::vector<std::byte> pixels(bytes);
    std::vector<std::int64_t> list;
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<float>(i);
      for (std::size_t p = 0; p < bytes; ++p) pixels[p] = static_cast<std::byte>(10 * i + p);
      list.assign(i % 3, static_cast<std::int64_t>(i));
      const auto written = writer.write({pixels, static_cast<std::int64_t>(i), {{{number, 1, 2}, {3, 4, 5}}}, list});
      records.emplace_back(written.begin(), written.end());
    }
    std::vector<distrib::ByteView> views(records.begin(), records.end());
    distrib::parse_examples(distrib::schema<Sample>(image, label, grid, words), views, batch);
  }

  std::vector<std::vector<std::byte>> records;
  distrib::Batch<Sample> batch;
};

template <class T> void check_elements(torch::ScalarType type) {
  std::array<T, 3> numbers{T{1}, T{0}, T{1}};
  const torch::Tensor tensor = torch_tensor(std::span<const T>{numbers});
  CHECK(tensor.scalar_type() == type);
  CHECK(tensor.sizes() == torch::IntArrayRef({3}));
  CHECK(tensor.data_ptr() == numbers.data());
  CHECK(tensor[2].item<T>() == T{1});
}

}  // namespace

TEST_CASE("torch_tensor: numbers of each type, not copied", "[libtorch]") {
  check_elements<float>(torch::kFloat32);
  check_elements<double>(torch::kFloat64);
  check_elements<std::int64_t>(torch::kInt64);
  check_elements<std::int32_t>(torch::kInt32);
  check_elements<std::uint8_t>(torch::kUInt8);
  check_elements<bool>(torch::kBool);
}

TEST_CASE("torch_tensor: columns of a batch", "[libtorch]") {
  const SampleBatch data{5};
  const auto labels = torch_tensor(data.batch.column(&Sample::label));
  CHECK(labels.data_ptr() == data.batch.column(&Sample::label).data());
  CHECK(labels.equal(torch::arange(5)));

  const auto grids = torch_tensor(data.batch.column(&Sample::grid));
  CHECK(grids.sizes() == torch::IntArrayRef({5, 2, 3}));
  CHECK(grids.data_ptr() == data.batch.column(&Sample::grid).data());
  CHECK(grids[4][0][0].item<float>() == 4);
  CHECK(grids[4][1][2].item<float>() == 5);
  const auto flat = torch_tensor(data.batch.column(&Sample::grid), {1, 6});
  CHECK(flat.sizes() == torch::IntArrayRef({5, 1, 6}));
  CHECK(flat.data_ptr() == grids.data_ptr());

  const auto images = torch_tensor(data.batch.column(&Sample::image), {1, 2, 3});
  CHECK(images.sizes() == torch::IntArrayRef({5, 1, 2, 3}));
  CHECK(images.scalar_type() == torch::kUInt8);
  for (int i = 0; i < 5; ++i) CHECK(images[i].flatten().equal(torch::arange(6).add(10 * i).to(torch::kUInt8)));
}

TEST_CASE("torch_tensor: lists of different lengths", "[libtorch]") {
  const SampleBatch data{5};
  const auto ragged = torch_tensor(data.batch.ragged(&Sample::words));
  CHECK(ragged.values.equal(torch::tensor({1, 2, 2, 4}, torch::kInt64)));
  CHECK(ragged.row_splits.equal(torch::tensor({0, 0, 1, 3, 3, 4}, torch::kInt64)));
  const auto weights = torch::arange(10, torch::kFloat32).view({5, 2});
  const auto bags =
      std::get<0>(torch::embedding_bag(weights, ragged.values, ragged.row_splits, false, 0, false, {}, true));
  CHECK(bags.equal(torch::tensor({{0.F, 0.F}, {2.F, 3.F}, {8.F, 10.F}, {0.F, 0.F}, {8.F, 9.F}})));

  const auto padded = distrib::padded(data.batch, &Sample::words, std::int64_t{-1});
  const auto matrix = torch_tensor(padded);
  CHECK(matrix.sizes() == torch::IntArrayRef({5, 2}));
  CHECK(matrix[2].equal(torch::tensor({2, 2}, torch::kInt64)));
  CHECK(matrix[4].equal(torch::tensor({4, -1}, torch::kInt64)));
}

TEST_CASE("torch_tensor: an empty batch", "[libtorch]") {
  const SampleBatch data{0};
  CHECK(torch_tensor(data.batch.column(&Sample::label)).sizes() == torch::IntArrayRef({0}));
  CHECK(torch_tensor(data.batch.column(&Sample::grid)).sizes() == torch::IntArrayRef({0, 2, 3}));
  CHECK(torch_tensor(data.batch.column(&Sample::image), {2, 3}).sizes() == torch::IntArrayRef({0, 2, 3}));
  CHECK(torch_tensor(data.batch.ragged(&Sample::words)).row_splits.equal(torch::zeros({1}, torch::kInt64)));
  CHECK(torch_tensor(std::span<const float>{}).sizes() == torch::IntArrayRef({0}));
}

TEST_CASE("torch_tensor: a shape that does not fit is refused", "[libtorch]") {
  const SampleBatch data{3, 5};
  const auto bytes = failure_of([&] { (void)torch_tensor(data.batch.column(&Sample::image), {2, 3}); });
  CHECK(bytes.code == libtorch_errc::bad_column);
  CHECK(bytes.where == "torch_tensor: record 0 of the batch has 5 bytes, the shape has 6");
  const auto numbers = failure_of([&] { (void)torch_tensor(data.batch.column(&Sample::grid), {2, 2}); });
  CHECK(numbers.where == "torch_tensor: a record has 6 numbers, the shape has 4");
  CHECK(failure_of([&] { (void)torch_tensor(data.batch.column(&Sample::label), {-1, -1}); }).where ==
        "torch_tensor: extent -1");
  CHECK(torch_tensor(data.batch.column(&Sample::label), {1, 1}).sizes() == torch::IntArrayRef({3, 1, 1}));
}

TEST_CASE("torch_tensor: what refers to a batch is watched, what is copied is not", "[libtorch]") {
  const SampleBatch data{3};
  const distrib::detail::LentColumns lent;
  torch::Tensor kept = torch_tensor(data.batch.column(&Sample::image), {6}).add_(2);
  lent.check("loss()");
  kept = torch_tensor(data.batch.column(&Sample::grid));
  CHECK(failure_of([&] { lent.check("loss()"); }).code == libtorch_errc::kept_column);
  kept = torch_tensor(data.batch.ragged(&Sample::words)).row_splits;
  CHECK(failure_of([&] { lent.check("loss()"); }).code == libtorch_errc::kept_column);
  kept.reset();
  lent.check("loss()");
}
