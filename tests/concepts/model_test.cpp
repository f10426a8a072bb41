// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/model.hpp>

#include "support/catch.hpp"

namespace {

/// The least that is a Model: it can neither be made of nothing nor copied, and its loss is something like a float.
struct Archetype {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {};
  explicit Archetype(std::int64_t size) : size_{size} {}
  Archetype(const Archetype&) = delete;
  auto variables() const -> Variables { return {{{size_}}}; }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> double {
    return 0;
  }

 private:
  std::int64_t size_;
};
static_assert(distrib::Model<Archetype>);
static_assert(!distrib::EvaluatedModel<Archetype>);

/// The least that is an EvaluatedModel.
struct Measured : Archetype {
  using Archetype::Archetype;
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) const -> distrib::Metrics {
    return {};
  }
};
static_assert(distrib::EvaluatedModel<Measured>);

struct NoList : Archetype {
  using Variables = distrib::Variable<"w", float, 1>;
};
struct ListsOther : Archetype {
  using Variables = distrib::VariableList<distrib::Variable<"v", float, 1>>;
};
struct NoExample {
  using Variables = Archetype::Variables;
  auto variables() const -> Variables;
  auto gradients(const auto&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float;
};
struct ListsOnce : Archetype {
  auto variables() -> Variables;
};
struct OfOther : Archetype {
  struct Example {};
};
struct ChangesItself : Archetype {
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) -> float;
};
struct ChangesValues : Archetype {
  auto gradients(const distrib::Batch<Example>&, distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float;
};
struct NoLoss : Archetype {
  void gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const;
};
static_assert(!distrib::Model<NoList>);
static_assert(!distrib::Model<ListsOther>);
static_assert(!distrib::Model<NoExample>);
static_assert(!distrib::Model<ListsOnce>);
static_assert(!distrib::Model<OfOther>);
static_assert(!distrib::Model<ChangesItself>);
static_assert(!distrib::Model<ChangesValues>);
static_assert(!distrib::Model<NoLoss>);
static_assert(!distrib::Model<int>);

struct MeasuresOnce : Archetype {
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) -> distrib::Metrics;
};
struct OneNumber : Archetype {
  auto evaluate(const distrib::Batch<Example>&, const distrib::Values<Variables>&) const -> double;
};
struct NoLearner : Measured {
  void gradients() const;
};
static_assert(!distrib::EvaluatedModel<MeasuresOnce>);
static_assert(!distrib::EvaluatedModel<OneNumber>);
static_assert(!distrib::EvaluatedModel<NoLearner>);

}  // namespace

TEST_CASE("Model: the least model, the least measured one, and what is none", "[concepts]") {
  const Measured model{3};
  STATIC_REQUIRE(std::is_same_v<decltype(model.variables()), Archetype::Variables>);
  STATIC_REQUIRE(distrib::Model<Measured>);
}
