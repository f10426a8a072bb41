// SPDX-License-Identifier: Apache-2.0
// usage: apply_updates ROWS DIM UPDATER HYPER-PARAMETER... <INPUT >OUTPUT
// Applies gradients to a variable of ROWS times DIM floats. Input: the variable; then for each step the number of rows
// with a gradient (32 bits), their row numbers (32 bits each) and their gradients. -1 instead of the number: a dense
// gradient of all rows follows. Output: the variable, then each slot.
#include <distrib/optimizer/updater_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class T>
auto read(std::span<T> to) -> bool {
  return std::fread(to.data(), sizeof(T), to.size(), stdin) == to.size();
}

// A table in the layout of a parameter server: each row is followed by its slots.
class Table {
 public:
  Table(distrib::AnyUpdater updater, std::size_t rows, std::size_t dim)
      : updater_{std::move(updater)}, dim_{dim}, stride_{dim * (1 + updater_.slots().size())}, floats_(rows * stride_) {
    for (std::size_t row = 0; row < rows; ++row) {
      auto at = floats_.begin() + static_cast<std::ptrdiff_t>(row * stride_ + dim);
      for (const distrib::Slot& slot : updater_.slots()) at = std::fill_n(at, dim, slot.initial);
      if (!read(part(row, 0))) throw std::runtime_error{"the variable is not complete"};
    }
  }

  void apply(std::uint64_t step, std::vector<std::uint32_t> rows, std::vector<float> gradients) {
    if (updater_.updates_every_row()) {  // rows without a gradient get one of zeros
      std::vector<float> all(this->rows() * dim_);
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>(i * dim_), dim_,
                    all.begin() + static_cast<std::ptrdiff_t>(rows[i] * dim_));
      gradients = std::move(all);
      rows.resize(this->rows());
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i);
    }
    std::vector<float*> pointers;
    for (const std::uint32_t row : rows) pointers.push_back(part(row, 0).data());
    updater_.apply_rows({step}, {dim_, pointers, gradients});
  }

  void apply_dense(std::uint64_t step, const std::vector<float>& gradient) {
    std::vector<std::vector<float>> blocks;
    for (std::size_t i = 0; i <= updater_.slots().size(); ++i) blocks.push_back(block(i));
    std::vector<std::span<float>> slots(blocks.begin() + 1, blocks.end());
    updater_.apply({step}, gradient, blocks[0], blocks[0], slots);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (std::size_t row = 0; row < rows(); ++row)
        std::copy_n(blocks[i].begin() + static_cast<std::ptrdiff_t>(row * dim_), dim_, part(row, i).begin());
  }

  void write() {
    for (std::size_t i = 0; i <= updater_.slots().size(); ++i) {
      const auto floats = block(i);
      std::fwrite(floats.data(), sizeof(float), floats.size(), stdout);
    }
  }

  auto rows() const -> std::size_t { return floats_.size() / stride_; }

 private:
  auto part(std::size_t row, std::size_t index) -> std::span<float> {
    return {floats_.data() + row * stride_ + index * dim_, dim_};
  }
  auto block(std::size_t index) -> std::vector<float> {
    std::vector<float> floats;
    for (std::size_t row = 0; row < rows(); ++row)
      floats.insert(floats.end(), part(row, index).begin(), part(row, index).end());
    return floats;
  }

  distrib::AnyUpdater updater_;
  std::size_t dim_;
  std::size_t stride_;
  std::vector<float> floats_;
};

}  // namespace

auto main(int argc, char** argv) -> int try {
  if (argc < 4) throw std::invalid_argument{"usage: apply_updates ROWS DIM UPDATER HYPER-PARAMETER..."};
  const auto rows = std::strtoull(argv[1], nullptr, 10);
  const auto dim = std::strtoull(argv[2], nullptr, 10);
  std::string text = argv[3];
  for (int i = 4; i < argc; ++i) text += std::string{" "} + argv[i];
  const auto updater = distrib::StandardUpdaters{}(text);
  if (!updater) throw std::invalid_argument{"unknown updater '" + text + "'"};
  Table table{*updater, rows, dim};
  std::int32_t count = 0;
  for (std::uint64_t step = 1; read(std::span{&count, 1}); ++step) {
    std::vector<std::uint32_t> indices(count < 0 ? 0 : static_cast<std::size_t>(count));
    std::vector<float> gradients((count < 0 ? rows : indices.size()) * dim);
    if (!read(std::span{indices}) || !read(std::span{gradients})) throw std::runtime_error{"the input is truncated"};
    for (const std::uint32_t index : indices)
      if (index >= rows) throw std::runtime_error{"no row " + std::to_string(index)};
    if (count < 0) table.apply_dense(step, gradients);
    else table.apply(step, std::move(indices), std::move(gradients));
  }
  table.write();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
