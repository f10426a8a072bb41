// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/safe_embedding_lookup_sparse.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <limits>

using distrib::Combiner;
using distrib::LookupOptions;
using distrib::prune_ids;
using distrib::PrunedIds;
using distrib::ps_errc;
using distrib::safe_embedding_lookup_sparse;
using distrib::SparseIds;
using Floats = std::vector<float>;
using Ids = std::vector<std::int64_t>;

namespace {

const Ids ids{1, -1, 2, 3, -5, 0};
const Ids splits{0, 2, 4, 4, 5, 6};
const Floats some_weights{2, 1, 0, 3, 1, -1};

auto safe(const SparseIds& lookups, LookupOptions options, std::optional<std::int64_t> default_id) -> Floats {
  const Floats table{0, 1, 10, 11, 20, 21, 30, 31};
  Floats combined(2 * lookups.rows(), -7.0F);
  safe_embedding_lookup_sparse(table, 2, lookups, options, default_id, combined);
  return combined;
}

}  // namespace

TEST_CASE("prune_ids: removes negative ids, and ids whose weight is not positive", "[ps]") {
  const PrunedIds plain = prune_ids({ids, splits});
  CHECK(plain.ids == Ids{1, 2, 3, 0});
  CHECK(plain.row_splits == Ids{0, 1, 3, 3, 3, 4});
  CHECK(plain.weights.empty());

  const PrunedIds mean = prune_ids({ids, splits, some_weights});
  CHECK(mean.ids == Ids{1, 3});
  CHECK(mean.row_splits == Ids{0, 1, 2, 2, 2, 2});
  CHECK(mean.weights == Floats{2, 3});

  // for a sum TensorFlow keeps all weights
  const PrunedIds sum = prune_ids({ids, splits, some_weights}, Combiner::sum);
  CHECK(sum.ids == Ids{1, 2, 3, 0});
  CHECK(sum.weights == Floats{2, 0, 3, -1});

  const Floats no_number{std::numeric_limits<float>::quiet_NaN()};
  CHECK(prune_ids({Ids{0}, Ids{0, 1}, no_number}).ids.empty());
}

TEST_CASE("prune_ids: empty rows get the default id with weight 1", "[ps]") {
  const PrunedIds kept = prune_ids({ids, splits, some_weights}, Combiner::sqrtn, 2);
  CHECK(kept.ids == Ids{1, 3, 2, 2, 2});
  CHECK(kept.row_splits == Ids{0, 1, 2, 3, 4, 5});
  CHECK(kept.weights == Floats{2, 3, 1, 1, 1});
  CHECK(prune_ids({Ids{-1}, Ids{0, 1}, Floats{4}}, Combiner::mean, 0).weights == Floats{1});
  CHECK(prune_ids({{}, Ids{0, 0}}, Combiner::mean, 5).ids == Ids{5});
}

TEST_CASE("safe_embedding_lookup_sparse: empty rows become zeros, or the row of the default id", "[ps]") {
  CHECK(safe({ids, splits}, {}, {}) == Floats{10, 11, 25, 26, 0, 0, 0, 0, 0, 1});
  CHECK(safe({ids, splits, some_weights}, {}, {}) == Floats{10, 11, 30, 31, 0, 0, 0, 0, 0, 0});
  CHECK(safe({ids, splits, some_weights}, {}, 2) == Floats{10, 11, 30, 31, 20, 21, 20, 21, 20, 21});
  CHECK(safe({ids, splits, some_weights}, {Combiner::sum}, {}) == Floats{20, 22, 90, 93, 0, 0, 0, 0, 0, -1});
  const Floats clipped = safe({Ids{-1}, Ids{0, 1}}, {.max_norm = 0.5F}, 0);
  CHECK(clipped == Floats{0, 0.5F});
}

TEST_CASE("safe_embedding_lookup_sparse: the gradient is computed from the pruned ids", "[ps]") {
  const Floats table{0, 1, 10, 11, 20, 21, 30, 31};
  const PrunedIds kept = prune_ids({ids, splits}, Combiner::mean);
  Floats gradient(8);
  embedding_lookup_sparse_gradient(table, 2, kept.lookups(), {.empty_rows = distrib::LookupOptions::EmptyRows::zeros},
                                   Floats{1, 2, 4, 6, 8, 8, 9, 9, 5, 7}, gradient);
  CHECK(gradient == Floats{5, 7, 1, 2, 2, 3, 2, 3});
}

TEST_CASE("safe_embedding_lookup_sparse: refuses arguments that do not fit together", "[ps]") {
  std::error_code ec;
  Floats combined(2, -7.0F);
  const Floats table(4);
  CHECK(prune_ids({Ids{1}, Ids{0}}, Combiner::mean, {}, ec).row_splits.empty());
  CHECK(ec == ps_errc::bad_row_splits);
  CHECK(prune_ids({Ids{1, 2}, Ids{0, 2}, Floats{1}}, Combiner::mean, {}, ec).ids.empty());
  CHECK(ec == ps_errc::bad_weights);
  CHECK_THROWS_WITH(prune_ids({Ids{1}, Ids{0}}), ContainsSubstring("a lookup of 1 ids with 0 weights: "));
  safe_embedding_lookup_sparse(table, 2, {Ids{1}, Ids{0}}, {}, {}, combined, ec);
  CHECK(ec == ps_errc::bad_row_splits);
  safe_embedding_lookup_sparse(table, 2, {Ids{2}, Ids{0, 1}}, {}, {}, combined, ec);
  CHECK(ec == ps_errc::no_such_row);
  safe_embedding_lookup_sparse(table, 2, {Ids{-2}, Ids{0, 1}}, {}, -1, combined, ec);  // the default id has no row
  CHECK(ec == ps_errc::no_such_row);
  CHECK(combined == Floats(2, -7.0F));
  CHECK_THROWS_WITH(safe_embedding_lookup_sparse(table, 2, {Ids{2}, Ids{0, 1}}, {}, {}, combined),
                    ContainsSubstring("the table has no such row"));
}
