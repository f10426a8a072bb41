// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batch_source.hpp>

#include "support/catch.hpp"

namespace {

struct Example {};
struct Other {};

/// The least that is a BatchSource.
struct Archetype {
  using ExampleType = Example;
  Archetype(Archetype&&) = default;
  void fill(std::uint64_t, distrib::Batch<Example>&) const;
  void fill_in_order(std::uint64_t, distrib::Batch<Example>&) const;
  auto batch_size() const -> std::uint32_t;
  auto batches() const -> std::optional<std::uint64_t>;
  auto in_order_batches() const -> std::uint32_t;
  auto records() const -> std::uint32_t;
  auto describe() const -> const char*;
};
static_assert(distrib::BatchSource<Archetype>);

struct ChangesItself : Archetype {
  void fill(std::uint64_t, distrib::Batch<Example>&);
};
struct OfOther : Archetype {
  void fill_in_order(std::uint64_t, distrib::Batch<Other>&) const;
};
struct Silent : Archetype {
  void describe() const;
};
struct Fixed : Archetype {
  Fixed(const Fixed&) = delete;
};
static_assert(!distrib::BatchSource<ChangesItself>);
static_assert(!distrib::BatchSource<OfOther>);
static_assert(!distrib::BatchSource<Silent>);
static_assert(!distrib::BatchSource<Fixed>);
static_assert(!distrib::BatchSource<int>);

/// The least that is a Dataset.
struct LeastDataset {
  using ExampleType = Example;
  auto open() const -> Archetype;
};
static_assert(distrib::Dataset<LeastDataset>);

struct OpensOther {
  using ExampleType = Other;
  auto open() const -> Archetype;
};
struct OpensOnce {
  using ExampleType = Example;
  auto open() -> Archetype;
};
static_assert(!distrib::Dataset<OpensOther>);
static_assert(!distrib::Dataset<OpensOnce>);
static_assert(!distrib::Dataset<Archetype>);

}  // namespace

TEST_CASE("Dataset: the archetype may say what it is", "[concepts]") {
  distrib::detail::explain_dataset<LeastDataset>();
  SUCCEED();
}
