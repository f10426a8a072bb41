// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/accumulate_gradients.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

auto summed_job() -> distrib::Job {
  distrib::Job job;
  job.variables = {{"w", distrib::DType::float32, {3, 3}, {}},
                   {"seen", distrib::DType::int64, {2}, {}},
                   {"total", distrib::DType::float64, {1}, {}}};
  distrib::TableInfo table;
  table.name = "t";
  table.dim = 5;
  job.tables = {table};
  return job;
}

auto summed_gradients(const distrib::Job& job, std::uint32_t seed) -> distrib::RuntimeGradients {
  distrib::RuntimeGradients gradients{distrib::RuntimeVariables{job.variables, job.tables}};
  gradients.rows(0).resize(2, 5);
  std::ranges::copy(reference::numbers(9, seed), reinterpret_cast<float*>(gradients.data(0)));
  std::ranges::copy(reference::numbers(10, seed + 1), gradients.rows(0).data());
  return gradients;
}

auto floats_of(const distrib::RuntimeGradients& gradients) -> std::vector<float> {
  const auto* w = reinterpret_cast<const float*>(gradients.data(0));
  std::vector<float> all{w, w + 9};
  all.insert(all.end(), gradients.rows(0).data(), gradients.rows(0).data() + 10);
  return all;
}

}  // namespace

TEST_CASE("add_gradients: adds variables, rows and counters", "[train]") {
  const distrib::Job job = summed_job();
  auto sum = summed_gradients(job, 1);
  auto more = summed_gradients(job, 5);
  const auto counts = [](distrib::RuntimeGradients& of) { return reinterpret_cast<std::int64_t*>(of.data(1)); };
  const auto total = [](distrib::RuntimeGradients& of) -> double& { return *reinterpret_cast<double*>(of.data(2)); };
  counts(sum)[0] = 7;
  counts(more)[0] = -9;
  counts(sum)[1] = std::numeric_limits<std::int64_t>::max();
  counts(more)[1] = 1;
  total(sum) = 0.1;
  total(more) = 0.2;
  const std::vector<float> one = floats_of(sum);
  const std::vector<float> two = floats_of(more);
  distrib::add_gradients(job, more, sum);
  const std::vector<float> both = floats_of(sum);
  for (std::size_t i = 0; i < both.size(); ++i) CHECK(both[i] == reference::plus(one[i], two[i]));
  CHECK(counts(sum)[0] == -2);
  CHECK(counts(sum)[1] == std::numeric_limits<std::int64_t>::min());  // modulo 2^64
  CHECK(total(sum) == 0.1 + 0.2);
  CHECK(floats_of(more) == two);
}

TEST_CASE("divide_gradients: divides variables and rows, not counters", "[train]") {
  const distrib::Job job = summed_job();
  auto gradients = summed_gradients(job, 1);
  *reinterpret_cast<std::int64_t*>(gradients.data(1)) = 9;
  *reinterpret_cast<double*>(gradients.data(2)) = 9;
  const std::vector<float> before = floats_of(gradients);
  distrib::divide_gradients(job, 3, gradients);
  const std::vector<float> after = floats_of(gradients);
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == reference::over(before[i], 3));
  CHECK(*reinterpret_cast<std::int64_t*>(gradients.data(1)) == 9);
  CHECK(*reinterpret_cast<double*>(gradients.data(2)) == 9);
}
