// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/embedding_lookup_sparse.hpp>

#include <distrib/ps/rows/unique_keys.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <cmath>

using distrib::Combiner;
using distrib::embedding_lookup_sparse;
using distrib::embedding_lookup_sparse_gradient;
using EmptyRows = distrib::LookupOptions::EmptyRows;
using distrib::LookupOptions;
using distrib::ps_errc;
using distrib::SparseIds;
using Floats = std::vector<float>;
using Ids = std::vector<std::int64_t>;

namespace {

auto table() -> Floats { return {0, 1, 10, 11, 20, 21, 30, 31, 40, 41}; }

auto combine(const Floats& from, std::size_t row_size, const SparseIds& lookups, const LookupOptions& options)
    -> Floats {
  Floats combined(lookups.rows() * row_size, -7.0F);
  embedding_lookup_sparse(from, row_size, lookups, options, combined);
  return combined;
}

}  // namespace

TEST_CASE("embedding_lookup_sparse: combines as TensorFlow does", "[ps]") {
  const Ids ids{1, 3, 0, 1, 2, 2, 4};
  const Ids splits{0, 2, 3, 4, 7};
  const Floats weights{2, 0.5F, 1, 3, 1, 1, 1};
  const SparseIds weighted{ids, splits, weights};
  const SparseIds plain{ids, splits};
  CHECK(combine(table(), 2, weighted, {Combiner::sum}) == Floats{35, 37.5F, 0, 1, 30, 33, 80, 83});
  CHECK(combine(table(), 2, weighted, {}) == Floats{14, 15, 0, 1, 10, 11, 80.0F / 3, 83.0F / 3});
  const float root = static_cast<float>(std::sqrt(4.25));
  const float root3 = static_cast<float>(std::sqrt(3.0));
  CHECK(combine(table(), 2, weighted, {Combiner::sqrtn}) ==
        Floats{35 / root, 37.5F / root, 0, 1, 10, 11, 80 / root3, 83 / root3});

  CHECK(combine(table(), 2, plain, {Combiner::sum}) == Floats{40, 42, 0, 1, 10, 11, 80, 83});
  CHECK(combine(table(), 2, plain, {}) == Floats{20, 21, 0, 1, 10, 11, 80.0F / 3, 83.0F / 3});
  const float root2 = static_cast<float>(std::sqrt(2.0));
  CHECK(combine(table(), 2, plain, {Combiner::sqrtn}) ==
        Floats{40 / root2, 42 / root2, 0, 1, 10, 11, 80 / root3, 83 / root3});
}

TEST_CASE("embedding_lookup_sparse: adds in the order of positions", "[ps]") {
  const Floats numbers{1e8F, -1e8F, 3};
  const Ids splits{0, 3};
  CHECK(combine(numbers, 1, {Ids{0, 1, 2}, splits}, {Combiner::sum}) == Floats{3});
  CHECK(combine(numbers, 1, {Ids{0, 2, 1}, splits}, {Combiner::sum}) == Floats{0});
}

TEST_CASE("embedding_lookup_sparse: each operation is rounded to float", "[ps]") {
  for (const std::size_t row_size : {1U, 3U, 4U, 6U, 17U}) {
    const Floats rows = reference::numbers(row_size * 9, 4);
    const Ids ids{8, 0, 3, 3, 5, 1, 7};
    const Ids splits{0, 5, 7};
    const Floats weights = reference::numbers(7, 5);
    const Floats made = combine(rows, row_size, {ids, splits, weights}, {});
    CAPTURE(row_size);
    for (std::size_t row = 0; row < 2; ++row) {
      double divisor = 0;
      Floats sum(row_size);
      for (auto i = static_cast<std::size_t>(splits[row]); i < static_cast<std::size_t>(splits[row + 1]); ++i) {
        divisor += double{weights[i]};
        for (std::size_t j = 0; j < row_size; ++j)
          sum[j] = reference::plus(sum[j],
                                   reference::times(rows[static_cast<std::size_t>(ids[i]) * row_size + j], weights[i]));
      }
      for (std::size_t j = 0; j < row_size; ++j)
        CHECK(made[row * row_size + j] == reference::over(sum[j], static_cast<float>(divisor)));
    }
  }
}

TEST_CASE("embedding_lookup_sparse: max_norm clips the looked-up rows, not the table", "[ps]") {
  const Floats rows{3, 4, 0.3F, 0.4F};
  const Ids ids{0, 1, 0};
  const Ids splits{0, 1, 2, 3};
  CHECK(combine(rows, 2, {ids, splits}, {.max_norm = 1.0F}) == Floats{0.6F, 0.8F, 0.3F, 0.4F, 0.6F, 0.8F});
  const Floats weights{2, 1, 1};
  const Floats weighted = combine(rows, 2, {ids, Ids{0, 3}, weights}, {Combiner::sum, 1.0F});
  CHECK(weighted[0] == Approx(2.1));
  CHECK(weighted[1] == Approx(2.8));
}

TEST_CASE("embedding_lookup_sparse: rows without ids, and divisors of 0, give zeros", "[ps]") {
  const Ids ids{1, 2};
  const Ids splits{0, 0, 2, 2};
  for (const Combiner combiner : {Combiner::mean, Combiner::sqrtn, Combiner::sum})
    CHECK(combine(table(), 2, {ids, splits}, {.combiner = combiner, .empty_rows = EmptyRows::zeros})[0] == 0.0F);
  const Floats weights{1, -1};
  CHECK(combine(table(), 2, {ids, Ids{0, 2}, weights}, {}) == Floats{0, 0});
  CHECK(combine(table(), 2, {ids, Ids{0, 2}, weights}, {Combiner::sum}) == Floats{-10, -10});
  CHECK(combine(table(), 2, {{}, Ids{0}}, {}).empty());

  Floats gradient(10, -7.0F);
  embedding_lookup_sparse_gradient(table(), 2, {ids, Ids{0, 2}, weights}, {}, Floats{1, 1}, gradient);
  CHECK(gradient == Floats(10));
}

TEST_CASE("embedding_lookup_sparse_gradient: each table row gets its share of every row that looked it up", "[ps]") {
  const Ids ids{1, 3, 1, 2};
  const Ids splits{0, 3, 4};
  const Floats weights{1, 2, 5, 4};
  const Floats combined{8, 16, 1, 2};
  Floats gradient(10, -7.0F);
  embedding_lookup_sparse_gradient(table(), 2, {ids, splits, weights}, {}, combined, gradient);
  CHECK(gradient == Floats{0, 0, 6, 12, 1, 2, 2, 4, 0, 0});
  embedding_lookup_sparse_gradient(table(), 2, {ids, splits, weights}, {Combiner::sum}, combined, gradient);
  CHECK(gradient == Floats{0, 0, 48, 96, 4, 8, 16, 32, 0, 0});
  embedding_lookup_sparse_gradient(table(), 2, {ids, splits}, {Combiner::sum}, combined, gradient);
  CHECK(gradient == Floats{0, 0, 16, 32, 1, 2, 8, 16, 0, 0});
  embedding_lookup_sparse_gradient(table(), 2, {ids, Ids{0, 4}}, {Combiner::sqrtn}, Floats{8, 16}, gradient);
  CHECK(gradient == Floats{0, 0, 8, 16, 4, 8, 4, 8, 0, 0});
}

TEST_CASE("embedding_lookup_sparse_gradient: agrees with finite differences", "[ps]") {
  const std::size_t row_size = 5;
  const Ids ids{0, 2, 2, 1, 3, 0};
  const Ids splits{0, 3, 5, 6};
  const Floats weights{0.5F, 1, 2, 0.25F, 1.5F, 3};
  const Floats upstream = reference::numbers(3 * row_size, 8);
  for (const Combiner combiner : {Combiner::mean, Combiner::sqrtn, Combiner::sum})
    for (const std::optional<float> max_norm : {std::optional<float>{}, std::optional{4.0F}}) {
      const Floats rows = reference::numbers(4 * row_size, 6);
      const LookupOptions options{combiner, max_norm};
      const SparseIds lookups{ids, splits, weights};
      const auto value = [&](const Floats& from) {
        const Floats combined = combine(from, row_size, lookups, options);
        double sum = 0;
        for (std::size_t i = 0; i < combined.size(); ++i) sum += double{combined[i]} * double{upstream[i]};
        return sum;
      };
      Floats gradient(rows.size());
      embedding_lookup_sparse_gradient(rows, row_size, lookups, options, upstream, gradient);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const float step = 0x1p-8F;
        Floats more = rows;
        Floats less = rows;
        more[i] += step;
        less[i] -= step;
        CAPTURE(combiner, max_norm.has_value(), i);
        CHECK(gradient[i] == Approx((value(more) - value(less)) / (2.0 * double{step})).epsilon(2e-3).margin(2e-3));
      }
    }
}

TEST_CASE("embedding_lookup_sparse: gives the same bits from the rows that unique_keys asks for", "[ps]") {
  const std::size_t row_size = 3;
  const Floats rows = reference::numbers(50 * row_size, 3);
  const std::vector<std::uint64_t> keys{40, 7, 40, 3, 7, 49};
  const Ids whole{40, 7, 40, 3, 7, 49};
  const Ids splits{0, 2, 4, 6};
  const LookupOptions options{Combiner::mean, 2.0F};

  const auto unique = distrib::unique_keys(keys);
  Floats some;  // the rows that parameter servers would send
  for (const std::uint64_t key : unique.keys)
    some.insert(some.end(), rows.begin() + static_cast<std::ptrdiff_t>(key * row_size),
                rows.begin() + static_cast<std::ptrdiff_t>((key + 1) * row_size));
  CHECK(combine(some, row_size, {unique.index, splits}, options) == combine(rows, row_size, {whole, splits}, options));

  const Floats upstream = reference::numbers(9, 1);
  Floats gradient(rows.size());
  Floats some_gradient(some.size());
  embedding_lookup_sparse_gradient(rows, row_size, {whole, splits}, options, upstream, gradient);
  embedding_lookup_sparse_gradient(some, row_size, {unique.index, splits}, options, upstream, some_gradient);
  for (std::size_t i = 0; i < unique.keys.size(); ++i)
    for (std::size_t j = 0; j < row_size; ++j)
      CHECK(some_gradient[i * row_size + j] == gradient[unique.keys[i] * row_size + j]);
}

TEST_CASE("embedding_lookup_sparse: refuses arguments that do not fit together", "[ps]") {
  struct Case {
    std::string what;
    Ids ids;
    Ids splits;
    Floats weights;
    std::size_t table;
    std::size_t row_size;
    std::size_t combined;
    std::optional<float> max_norm;
    ps_errc code;
  };
  const Case cases[] = {
      {"splits", {0}, {0, 2}, {}, 4, 2, 2, {}, ps_errc::bad_row_splits},
      {"weights", {0, 1}, {0, 2}, {1}, 4, 2, 2, {}, ps_errc::bad_weights},
      {"table", {0}, {0, 1}, {}, 5, 2, 2, {}, ps_errc::shape_mismatch},
      {"rows of nothing", {0}, {0, 1}, {}, 4, 0, 0, {}, ps_errc::shape_mismatch},
      {"combined", {0}, {0, 1}, {}, 4, 2, 4, {}, ps_errc::shape_mismatch},
      {"id above", {2}, {0, 1}, {}, 4, 2, 2, {}, ps_errc::no_such_row},
      {"id below", {-1}, {0, 1}, {}, 4, 2, 2, {}, ps_errc::no_such_row},
      {"no id", {0}, {0, 1, 1}, {}, 4, 2, 4, {}, ps_errc::empty_row},
      {"norm", {0}, {0, 1}, {}, 4, 2, 2, 0.0F, ps_errc::not_positive},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const Floats rows(c.table, 1.0F);
    const SparseIds lookups{c.ids, c.splits, c.weights};
    const LookupOptions options{.max_norm = c.max_norm};
    Floats combined(c.combined, -7.0F);
    Floats gradient(c.table, -7.0F);
    std::error_code ec;
    embedding_lookup_sparse(rows, c.row_size, lookups, options, combined, ec);
    CHECK(ec == c.code);
    embedding_lookup_sparse_gradient(rows, c.row_size, lookups, options, combined, gradient, ec);
    CHECK(ec == c.code);
    CHECK(combined == Floats(c.combined, -7.0F));
    CHECK(gradient == Floats(c.table, -7.0F));
    CHECK_THROWS_WITH(embedding_lookup_sparse(rows, c.row_size, lookups, options, combined),
                      ContainsSubstring("in a table of " + std::to_string(c.table) + " elements"));
    CHECK_THROWS_WITH(embedding_lookup_sparse_gradient(rows, c.row_size, lookups, options, combined, gradient),
                      ContainsSubstring("in a table of "));
  }
  std::error_code ec;
  Floats gradient(2);
  embedding_lookup_sparse_gradient(table(), 2, {Ids{0}, Ids{0, 1}}, {}, Floats{1, 2}, gradient, ec);
  CHECK(ec == ps_errc::shape_mismatch);
}
