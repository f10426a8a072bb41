// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_rows.hpp>

#include "libtorch/catch.hpp"
#include "libtorch/table_memory.hpp"

#include <distrib/core/embedding.hpp>
#include <distrib/core/variables.hpp>

#include <cstdint>
#include <vector>

using distrib::TorchRows;

namespace {

using RowTables = distrib::VariableList<distrib::Embedding<"user", float, 3>, distrib::Embedding<"word", float, 2>>;

}  // namespace

TEST_CASE("TorchRows: the memory of values, leaf tensors with the memory of gradients", "[libtorch]") {
  support::TableMemory memory{{{2, 3}, {4, 2}}, {{1, 0, 1}, {3, 3}}};
  const TorchRows<RowTables> rows{memory.values, &memory.gradients, torch::kCPU};
  const auto users = distrib::unique_rows<"user">(rows);
  CHECK(users.sizes() == torch::IntArrayRef({2, 3}));
  CHECK(users.data_ptr<float>() == memory.values.rows(0).data());
  CHECK(users.is_leaf());
  CHECK(users.requires_grad());
  CHECK(users.grad().data_ptr<float>() == memory.gradients.rows(0).data());
  CHECK(distrib::lookup_index<"word">(rows).equal(torch::tensor({3, 3}, torch::kInt64)));

  const auto looked_up = distrib::get<"user">(rows);
  CHECK(looked_up.equal(torch::tensor({{3.F, 4.F, 5.F}, {0.F, 1.F, 2.F}, {3.F, 4.F, 5.F}})));
  looked_up.sum().backward();
  CHECK(memory.gradient(0) == std::vector<float>{1, 1, 1, 2, 2, 2});
  CHECK(memory.gradient(1) == std::vector<float>(8, 0));
}

TEST_CASE("TorchRows: embedding_bag over lists", "[libtorch]") {
  support::TableMemory memory{{{1, 3}, {4, 2}}, {{0}, {2, 0, 2, 1}}};
  const TorchRows<RowTables> rows{memory.values, &memory.gradients, torch::kCPU};
  const auto splits = torch::tensor({0, 3, 3, 4}, torch::kInt64);
  const auto bags = std::get<0>(torch::embedding_bag(
      distrib::unique_rows<"word">(rows), distrib::lookup_index<"word">(rows), splits, false, 0, false, {}, true));
  CHECK(bags.equal(torch::tensor({{8.F, 11.F}, {0.F, 0.F}, {2.F, 3.F}})));
  bags.sum().backward();
  CHECK(memory.gradient(1) == std::vector<float>{1, 1, 1, 1, 2, 2, 0, 0});
}

TEST_CASE("TorchRows: without gradients the rows require none; a table may have no lookups", "[libtorch]") {
  support::TableMemory memory{{{0, 3}, {1, 2}}, {{}, {0}}};
  const TorchRows<RowTables> rows{memory.values, nullptr, torch::kCPU};
  CHECK(!distrib::unique_rows<"word">(rows).requires_grad());
  CHECK(!distrib::get<"word">(rows).requires_grad());
  CHECK(distrib::get<"user">(rows).sizes() == torch::IntArrayRef({0, 3}));
}
