// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/model.hpp>

#include "support/catch.hpp"

#include <vector>

namespace {

/// The smallest Model: it can be neither default-constructed nor copied, and its loss converts to float.
struct LeastModel {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {};
  explicit LeastModel(std::int64_t size) : size_{size} {}
  LeastModel(const LeastModel&) = delete;
  auto variables() const -> Variables { return {{{size_}}}; }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> double {
    return 0;
  }

 private:
  std::int64_t size_;
};
static_assert(distrib::Model<LeastModel>);
static_assert(!distrib::detail::EvaluatedModel<LeastModel>);

/// The smallest EvaluatedModel.
struct MeasuredModel : LeastModel {
  using LeastModel::LeastModel;
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) const -> distrib::Metrics {
    return {};
  }
};
static_assert(distrib::detail::EvaluatedModel<MeasuredModel>);

/// The smallest Model whose variables are known at run time. It may have lookups, but need not.
struct RuntimeModel {
  using Variables = distrib::RuntimeVariables;
  struct Example {};
  auto variables() const -> Variables { return {}; }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};
struct RuntimeLookups : RuntimeModel {
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Variables>&) const {}
};
static_assert(distrib::Model<RuntimeModel>);
static_assert(distrib::Model<RuntimeLookups>);
static_assert(!distrib::detail::HasLookups<RuntimeModel>);
static_assert(distrib::detail::HasLookups<RuntimeLookups>);

struct Infos : RuntimeModel {
  using Variables = std::vector<distrib::VariableInfo>;
};
static_assert(!distrib::Model<Infos>);

struct NoList : LeastModel {
  using Variables = distrib::Variable<"w", float, 1>;
};
struct ListsOther : LeastModel {
  using Variables = distrib::VariableList<distrib::Variable<"v", float, 1>>;
};
struct NoExample {
  using Variables = LeastModel::Variables;
  auto variables() const -> Variables;
  auto gradients(const auto&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float;
};
struct ListsOnce : LeastModel {
  auto variables() -> Variables;
};
struct OtherModel : LeastModel {
  struct Example {};
};
struct ChangingModel : LeastModel {
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) -> float;
};
struct ChangesValues : LeastModel {
  auto gradients(const distrib::Batch<Example>&, distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float;
};
struct NoLoss : LeastModel {
  void gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const;
};
static_assert(!distrib::Model<NoList>);
static_assert(!distrib::Model<ListsOther>);
static_assert(!distrib::Model<NoExample>);
static_assert(!distrib::Model<ListsOnce>);
static_assert(!distrib::Model<OtherModel>);
static_assert(!distrib::Model<ChangingModel>);
static_assert(!distrib::Model<ChangesValues>);
static_assert(!distrib::Model<NoLoss>);
static_assert(!distrib::Model<int>);

struct MeasuresOnce : LeastModel {
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) -> distrib::Metrics;
};
struct OneNumber : LeastModel {
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) const -> double;
};
struct NoLearner : MeasuredModel {
  void gradients() const;
};
static_assert(!distrib::detail::EvaluatedModel<MeasuresOnce>);
static_assert(!distrib::detail::EvaluatedModel<OneNumber>);
static_assert(!distrib::detail::EvaluatedModel<NoLearner>);

}  // namespace

TEST_CASE("Model: accepts the smallest models with and without evaluation, refuses types that lack a part",
          "[concepts]") {
  const MeasuredModel model{3};
  STATIC_REQUIRE(std::is_same_v<decltype(model.variables()), LeastModel::Variables>);
  STATIC_REQUIRE(distrib::Model<MeasuredModel>);
}
