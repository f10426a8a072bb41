// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/sparse_ids.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::ps_errc;
using distrib::SparseIds;
using distrib::detail::check_sparse_ids;
using Ids = std::vector<std::int64_t>;

TEST_CASE("SparseIds: row_splits divide the ids into rows", "[ps]") {
  const Ids ids{5, 6, 7};
  const Ids splits{0, 2, 2, 3};
  const SparseIds lookups{ids, splits};
  CHECK_NOTHROW(check_sparse_ids(lookups));
  CHECK(lookups.rows() == 3);
  CHECK(lookups.begin_of(2) == 2);
  CHECK(lookups.size_of(0) == 2);
  CHECK(lookups.size_of(1) == 0);
}

TEST_CASE("SparseIds: refuses lists that do not fit together", "[ps]") {
  struct Case {
    std::size_t ids;
    Ids splits;
    std::size_t weights;
    std::error_code code;
  };
  const Case cases[] = {
      {0, {0}, 0, {}},
      {0, {0, 0, 0}, 0, {}},
      {3, {0, 1, 3}, 0, {}},
      {3, {0, 3}, 3, {}},
      {3, {}, 0, ps_errc::bad_row_splits},
      {3, {0}, 0, ps_errc::bad_row_splits},
      {3, {1, 3}, 0, ps_errc::bad_row_splits},
      {3, {0, 2}, 0, ps_errc::bad_row_splits},
      {3, {0, 4}, 0, ps_errc::bad_row_splits},
      {3, {0, 2, 1, 3}, 0, ps_errc::bad_row_splits},
      {3, {-1, 3}, 0, ps_errc::bad_row_splits},
      {3, {0, 3, -1}, 0, ps_errc::bad_row_splits},
      {3, {0, 3}, 2, ps_errc::bad_weights},
      {3, {0, 3}, 4, ps_errc::bad_weights},
      {0, {0}, 1, ps_errc::bad_weights},
  };
  for (const Case& c : cases) {
    const Ids ids(c.ids);
    const std::vector<float> weights(c.weights);
    const SparseIds lookups{ids, c.splits, weights};
    std::error_code ec = ps_errc::empty_row;
    check_sparse_ids(lookups, ec);
    CAPTURE(c.ids, c.splits, c.weights);
    CHECK(ec == c.code);
    if (c.code) CHECK_THROWS_WITH(check_sparse_ids(lookups), ContainsSubstring(" ids with "));
  }
}
