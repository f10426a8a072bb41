// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batch_source.hpp>

#include "support/catch.hpp"

namespace {

struct Example {
  std::int64_t number = 0;
};

/// Numbers out of nothing: a source need not be files.
struct Counter {
  using ExampleType = Example;
  void fill(std::uint64_t, distrib::Batch<Example>&) const {}
  void fill_in_order(std::uint64_t, distrib::Batch<Example>&) const {}
  auto batch_size() const -> std::uint64_t { return 1; }
  auto batches() const -> std::uint64_t { return 7; }
  auto in_order_batches() const -> std::uint64_t { return 7; }
  auto records() const -> std::uint64_t { return 7; }
  auto describe() const -> std::string { return "counter"; }
};

struct Counting {
  using ExampleType = Example;
  auto open() const -> Counter { return {}; }
};

}  // namespace

TEST_CASE("BatchSource: need not be files", "[data]") {
  STATIC_REQUIRE(distrib::BatchSource<Counter>);
  STATIC_REQUIRE(distrib::Dataset<Counting>);
  distrib::detail::explain_dataset<Counting>();
  CHECK(Counting{}.open().batches() == 7);
}
