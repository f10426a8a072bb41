// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batch_source.hpp>

#include "support/catch.hpp"

namespace {

struct Example {};
struct Other {};

/// The smallest BatchSource.
struct LeastBatchSource {
  using ExampleType = Example;
  LeastBatchSource(LeastBatchSource&&) = default;
  void fill(std::uint64_t, distrib::Batch<Example>&) const;
  void fill_in_order(std::uint64_t, distrib::Batch<Example>&) const;
  auto batch_size() const -> std::uint32_t;
  auto batches() const -> std::optional<std::uint64_t>;
  auto in_order_batches() const -> std::uint32_t;
  auto records() const -> std::uint32_t;
  auto describe() const -> const char*;
};
static_assert(distrib::BatchSource<LeastBatchSource>);

struct ChangingBatchSource : LeastBatchSource {
  void fill(std::uint64_t, distrib::Batch<Example>&);
};
struct OtherBatchSource : LeastBatchSource {
  void fill_in_order(std::uint64_t, distrib::Batch<Other>&) const;
};
struct SilentBatchSource : LeastBatchSource {
  void describe() const;
};
struct FixedBatchSource : LeastBatchSource {
  FixedBatchSource(const FixedBatchSource&) = delete;
};
static_assert(!distrib::BatchSource<ChangingBatchSource>);
static_assert(!distrib::BatchSource<OtherBatchSource>);
static_assert(!distrib::BatchSource<SilentBatchSource>);
static_assert(!distrib::BatchSource<FixedBatchSource>);
static_assert(!distrib::BatchSource<int>);

/// The smallest Dataset.
struct LeastDataset {
  using ExampleType = Example;
  auto open() const -> LeastBatchSource;
};
static_assert(distrib::Dataset<LeastDataset>);

struct OpensOther {
  using ExampleType = Other;
  auto open() const -> LeastBatchSource;
};
struct OpensOnce {
  using ExampleType = Example;
  auto open() -> LeastBatchSource;
};
static_assert(!distrib::Dataset<OpensOther>);
static_assert(!distrib::Dataset<OpensOnce>);
static_assert(!distrib::Dataset<LeastBatchSource>);

}  // namespace

TEST_CASE("Dataset: explain_dataset compiles for the smallest model", "[concepts]") {
  distrib::detail::explain_dataset<LeastDataset>();
  SUCCEED();
}
