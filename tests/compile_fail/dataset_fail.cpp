// error: a BatchSource needs fill_in_order\(std::uint64_t number, Batch<ExampleType>&\) const
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/batch_source.hpp>

struct Example {};

struct Counter {
  using ExampleType = Example;
  void fill(std::uint64_t, distrib::Batch<Example>&) const {}
#ifndef DISTRIB_COMPILE_FAIL
  void fill_in_order(std::uint64_t, distrib::Batch<Example>&) const {}
#endif
  auto batch_size() const -> std::uint64_t { return 1; }
  auto batches() const -> std::uint64_t { return 7; }
  auto in_order_batches() const -> std::uint64_t { return 7; }
  auto records() const -> std::uint64_t { return 7; }
  auto describe() const -> std::string { return {}; }
};

struct Counting {
  using ExampleType = Example;
  auto open() const -> Counter { return {}; }
};

void likeliest_mistake() { distrib::detail::explain_dataset<Counting>(); }
