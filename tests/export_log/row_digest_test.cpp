// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/row_digest.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>

namespace {

using RowsOfCase = std::map<std::uint64_t, std::array<float, 4>>;

auto digest_of_case(const RowsOfCase& rows) -> distrib::RowDigest {
  distrib::RowDigest sum;
  for (const auto& [key, row] : rows) sum += distrib::row_digest(key, std::as_bytes(std::span{row}));
  return sum;
}

constexpr std::uint64_t last_key = std::numeric_limits<std::uint64_t>::max();
const RowsOfCase first_case{{1, {0.5F, -1, 2, 0}}, {2, {0.001F, 0, 0, 0}}, {last_key, {3, 4, 5, 6}}};

}  // namespace

TEST_CASE("the digest of a table is two sums of a hash of its rows") {
  CHECK(digest_of_case({}) == distrib::RowDigest{});
  CHECK(digest_of_case(first_case) == distrib::RowDigest{0x8597e4d26185a8d1, 0x79361bf505759121});
}

// Worked by a program in another language; the numbers are not computed here.
TEST_CASE("case C3: the digest of a changed table is that of the old one, without old rows, with new ones") {
  const RowsOfCase after{{2, {0.001F, 0.25F, 0, 0}}, {last_key, {3, 4, 5, 6}}, {7, {1, 1, 1, 1}}};
  CHECK(digest_of_case(after) == distrib::RowDigest{0x756d18c229810d88, 0x671e8122c6cb2cd7});
  distrib::RowDigest difference = digest_of_case(after);
  difference -= digest_of_case(first_case);
  CHECK(difference == distrib::RowDigest{0xefd533efc7fb64b7, 0xede8652dc1559bb6});
  distrib::RowDigest changed = digest_of_case(first_case);
  for (const std::uint64_t key : {std::uint64_t{1}, std::uint64_t{2}})
    changed -= digest_of_case({{key, first_case.at(key)}});
  for (const std::uint64_t key : {std::uint64_t{2}, std::uint64_t{7}})
    changed += digest_of_case({{key, after.at(key)}});
  CHECK(changed == digest_of_case(after));
}

TEST_CASE("rows of every length have a digest, and a swapped pair of rows another one") {
  const std::array<std::byte, 40> zeros{};
  std::map<std::uint64_t, std::size_t> seen;
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    CHECK(seen.emplace(distrib::row_digest(1, std::span{zeros}.first(size)).first, size).second);
  const RowsOfCase swapped{{1, {0.001F, 0, 0, 0}}, {2, {0.5F, -1, 2, 0}}, {last_key, {3, 4, 5, 6}}};
  CHECK(digest_of_case(swapped) != digest_of_case(first_case));
}
