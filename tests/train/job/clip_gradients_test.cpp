// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/clip_gradients.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using distrib::ClipByNorm;
using distrib::ClipByValue;

namespace {

/// A job with two variables, a counter, and a table with rows of 3.
auto clipped_job(const distrib::GradientClipping& clipping) -> distrib::Job {
  distrib::Job job;
  job.variables = {{"w", distrib::DType::float32, {7, 5}, {}},
                   {"seen", distrib::DType::int64, {2}, {}},
                   {"b", distrib::DType::float32, {5}, {}}};
  distrib::TableInfo table;
  table.name = "t";
  table.dim = 3;
  job.tables = {table};
  job.gradient_clipping = clipping;
  return job;
}

/// The gradients of such a job, the same each time.
struct Made {
  explicit Made(const distrib::Job& job, std::size_t rows = 4)
      : gradients{distrib::RuntimeVariables{job.variables, job.tables}} {
    gradients.rows(0).resize(rows, 3);
    fill(0, 35, 1);
    fill(2, 5, 2);
    const auto numbers = reference::numbers(rows * 3, 3);
    std::ranges::copy(numbers, gradients.rows(0).data());
    auto* counter = reinterpret_cast<std::int64_t*>(gradients.data(1));
    counter[0] = 1'000'000;
    counter[1] = -7;
  }

  /// All floats: w, b, then the rows.
  [[nodiscard]] auto floats() -> std::vector<float> {
    std::vector<float> all;
    for (const std::size_t v : {0U, 2U}) {
      const auto* data = reinterpret_cast<const float*>(gradients.data(v));
      all.insert(all.end(), data, data + gradients.size_bytes(v) / sizeof(float));
    }
    all.insert(all.end(), gradients.rows(0).data(), gradients.rows(0).data() + gradients.rows(0).count() * 3);
    return all;
  }
  [[nodiscard]] auto counters() -> std::vector<std::int64_t> {
    const auto* counter = reinterpret_cast<const std::int64_t*>(gradients.data(1));
    return {counter, counter + 2};
  }

  distrib::RuntimeGradients gradients;

 private:
  void fill(std::size_t variable, std::size_t size, std::uint32_t seed) {
    std::ranges::copy(reference::numbers(size, seed), reinterpret_cast<float*>(gradients.data(variable)));
  }
};

}  // namespace

TEST_CASE("clip_gradients: by norm scales the whole gradient, rows included and counters not", "[train]") {
  const auto job = clipped_job(ClipByNorm{0.5F});
  Made made{job};
  const std::vector<float> before = made.floats();
  const std::vector<std::int64_t> counters = made.counters();
  double sum = 0;
  for (const float g : before) sum += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(sum);
  REQUIRE(norm > 0.5);
  CHECK(static_cast<double>(distrib::clip_gradients(job, made.gradients)) == Approx(norm).epsilon(1e-7));
  const auto factor = static_cast<float>(0.5 / (norm + 1e-6));
  const std::vector<float> after = made.floats();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i] == Approx(before[i] * factor).epsilon(1e-6));
  CHECK(made.counters() == counters);
  // The norm is now the bound.
  CHECK(distrib::clip_gradients(job, made.gradients) == Approx(0.5F).epsilon(1e-5));
}

TEST_CASE("clip_gradients: a norm within the bound changes no bit, but is returned", "[train]") {
  const auto job = clipped_job(ClipByNorm{1000});
  Made made{job};
  const std::vector<float> before = made.floats();
  CHECK(distrib::clip_gradients(job, made.gradients) > 1);
  CHECK(made.floats() == before);
}

TEST_CASE("clip_gradients: rows of zeros, also between others, do not change the bits", "[train]") {
  const auto job = clipped_job(ClipByNorm{0.5F});
  Made made{job};
  Made more{job, 6};
  // The same four rows, with rows of zeros before and between them.
  float* const rows = more.gradients.rows(0).data();
  std::ranges::fill(std::span{rows, 18}, 0.0F);
  const float* const from = made.gradients.rows(0).data();
  for (const auto& [to, row] : {std::pair{1, 0}, {2, 1}, {4, 2}, {5, 3}}) std::copy_n(from + row * 3, 3, rows + to * 3);
  CHECK(distrib::clip_gradients(job, made.gradients) == distrib::clip_gradients(job, more.gradients));
  std::vector<float> found = more.floats();
  std::erase(found, 0.0F);
  CHECK(found == made.floats());
}

TEST_CASE("clip_gradients: a norm that is not finite leaves the gradient for check_numerics", "[train]") {
  const auto job = clipped_job(ClipByNorm{0.5F});
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Made made{job};
    const std::vector<float> before = made.floats();
    reinterpret_cast<float*>(made.gradients.data(0))[3] = bad;
    CHECK_FALSE(std::isfinite(distrib::clip_gradients(job, made.gradients)));
    std::vector<float> after = made.floats();
    CHECK_FALSE(std::isfinite(after[3]));
    after[3] = before[3];
    CHECK(after == before);
  }
}

TEST_CASE("clip_gradients: by value moves each element into the range", "[train]") {
  const auto job = clipped_job(ClipByValue{0.25F});
  Made made{job};
  std::vector<float> expected = made.floats();
  REQUIRE(std::ranges::count_if(expected, [](float g) { return g > 0.25F; }) > 0);
  REQUIRE(std::ranges::count_if(expected, [](float g) { return g < -0.25F; }) > 0);
  for (float& g : expected) g = std::clamp(g, -0.25F, 0.25F);
  const std::vector<std::int64_t> counters = made.counters();
  CHECK(std::isnan(distrib::clip_gradients(job, made.gradients)));
  CHECK(made.floats() == expected);
  CHECK(made.counters() == counters);
  reinterpret_cast<float*>(made.gradients.data(0))[3] = std::numeric_limits<float>::quiet_NaN();
  distrib::clip_gradients(job, made.gradients);
  CHECK(std::isnan(made.floats()[3]));
}

TEST_CASE("clip_gradients: a job without clipping changes nothing", "[train]") {
  const auto job = clipped_job({});
  Made made{job};
  const std::vector<float> before = made.floats();
  CHECK(std::isnan(distrib::clip_gradients(job, made.gradients)));
  CHECK(made.floats() == before);
}

TEST_CASE("clip_gradients: what is left out is neither clipped nor part of the norm", "[train]") {
  for (const distrib::GradientClipping& clipping :
       {distrib::GradientClipping{ClipByNorm{0.5F}}, distrib::GradientClipping{ClipByValue{0.25F}}}) {
    CAPTURE(clipping.describe());
    const auto job = clipped_job(clipping);
    const std::vector<bool> left_out{false, false, true, false};
    Made made{job};
    Made without{job};
    float* const statistic = reinterpret_cast<float*>(made.gradients.data(2));
    std::fill_n(statistic, 5, 1000.0F);
    std::fill_n(reinterpret_cast<float*>(without.gradients.data(2)), 5, 0.0F);
    const float norm = distrib::clip_gradients(job, made.gradients, left_out);
    const float expected = distrib::clip_gradients(job, without.gradients);
    CHECK((norm == expected || (std::isnan(norm) && std::isnan(expected))));
    for (std::size_t i = 0; i < 5; ++i) CHECK(statistic[i] == 1000);
    std::fill_n(statistic, 5, 0.0F);
    CHECK(made.floats() == without.floats());
  }
  // A table: its number follows those of the variables.
  const auto job = clipped_job(ClipByNorm{0.5F});
  Made made{job};
  const std::vector<float> before = made.floats();
  distrib::clip_gradients(job, made.gradients, {false, false, false, true});
  const std::vector<float> after = made.floats();
  CHECK(std::equal(before.begin() + 40, before.end(), after.begin() + 40));
  CHECK(before[0] != after[0]);
}
