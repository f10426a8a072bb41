// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_task.hpp>

#include "libtorch/catch.hpp"

#include <distrib/core/embedding.hpp>
#include <distrib/core/variables.hpp>

#include <memory>

namespace {

// The least task.
struct LeastTask {
  struct Example {};
  auto make() const -> std::shared_ptr<torch::nn::Module>;
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor;
};

// With tables, and with more than one module argument that would fit.
struct LeastTableTask {
  struct Example {};
  using Tables = distrib::VariableList<distrib::Embedding<"user", float, 2>>;
  auto tables() const -> Tables;
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Tables>&) const;
  static auto make() -> std::shared_ptr<torch::nn::Module>;
  static auto loss(auto& net, const distrib::Batch<Example>&, const distrib::TorchRows<Tables>&) -> torch::Tensor;
  static auto evaluate(auto& net, const distrib::Batch<Example>&) -> distrib::Metrics;
};

struct WithoutLookups : LeastTableTask {
  void lookups() const;
};
struct RowsForgotten : LeastTableTask {
  static auto loss(auto& net, const distrib::Batch<Example>&) -> torch::Tensor;
};
struct ByNumber : LeastTask {
  auto make() const -> int;
};
struct WithScore : LeastTask {
  auto evaluate(torch::nn::Module&, const distrib::Batch<Example>&) const -> double;
};

}  // namespace

TEST_CASE("TorchTask: what a task must have", "[libtorch]") {
  STATIC_REQUIRE(distrib::TorchTask<LeastTask>);
  STATIC_REQUIRE(distrib::TorchTask<LeastTableTask>);
  STATIC_REQUIRE(!distrib::TorchTask<WithoutLookups>);
  STATIC_REQUIRE(!distrib::TorchTask<RowsForgotten>);
  STATIC_REQUIRE(!distrib::TorchTask<ByNumber>);
  STATIC_REQUIRE(!distrib::TorchTask<int>);
}

TEST_CASE("TorchTask: an evaluation is possible, if it returns metrics", "[libtorch]") {
  STATIC_REQUIRE(!distrib::detail::HasEvaluate<LeastTask>);
  STATIC_REQUIRE(distrib::detail::HasEvaluate<LeastTableTask>);
  STATIC_REQUIRE(!distrib::detail::HasEvaluate<WithScore>);
}
