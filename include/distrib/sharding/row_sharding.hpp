// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/key_sharding.hpp>

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Where a row of a variable is: its shard, and its number among the shard's own rows.
struct ShardRow {
  std::uint32_t shard = 0;  ///< Number of the shard, from 0.
  std::int64_t row = 0;  ///< Number among the shard's own rows, from 0.

  [[nodiscard]] auto operator==(const ShardRow&) const -> bool = default;
};

namespace detail {
template <class S>
concept LocatesRows = requires(const S& sharding, std::int64_t row) {
  { sharding.rows() } -> std::convertible_to<std::int64_t>;
  { sharding.locate(row) } -> std::convertible_to<ShardRow>;
};
}  // namespace detail

/// A `KeySharding` of rows 0 .. n-1 whose keys are the row numbers. It also has `rows() const -> std::int64_t` and
/// `locate(std::int64_t row) const -> ShardRow`, for 0 <= row < `rows()`.
///
/// Semantics: `locate(row).shard == shard(row)`, and the rows of a shard are 0 .. k-1 without gaps.
template <class S>
concept RowSharding = KeySharding<S> && detail::LocatesRows<S>;

namespace detail {
/// Reports one sentence for each thing that `S` lacks. For the twins of functions that take a RowSharding.
template <class S> constexpr void explain_row_sharding() {
  // a variable of its own, so that compilers do not add why the concept failed
  constexpr bool locates = LocatesRows<S>;
  explain_key_sharding<S>();
  static_assert(locates,
                "distrib: a RowSharding needs rows() const, and locate(std::int64_t row) const that returns "
                "distrib::ShardRow");
}
}  // namespace detail

/// Writes to `places` where each of `rows` is, in the order of `rows`. Both must have the same length (programmer error
/// otherwise; asserted).
///
/// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::no_such_row` if one of `rows` is not from 0 to
/// `sharding.rows()` - 1; the places before that row are written.
template <RowSharding S>
void locate_rows(const S& sharding, std::span<const std::int64_t> rows, std::span<ShardRow> places,
                 std::error_code& ec) {
  assert(rows.size() == places.size());
  ec.clear();
  const std::int64_t end = sharding.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0 || rows[i] >= end) {
      ec = sharding_errc::no_such_row;
      return;
    }
    places[i] = sharding.locate(rows[i]);
  }
}
template <RowSharding S>
void locate_rows(const S& sharding, std::span<const std::int64_t> rows, std::span<ShardRow> places) {
  std::error_code ec;
  locate_rows(sharding, rows, places, ec);
  if (ec) throw_error(ec, "one of " + std::to_string(rows.size()) + " rows, of " + std::to_string(sharding.rows()));
}

// The twin with the same parameter list, which reports what is missing. The constrained one is chosen if its concept
// holds.
template <class S> void locate_rows(const S&, std::span<const std::int64_t>, std::span<ShardRow>) {
  detail::explain_row_sharding<S>();
}

}  // namespace v0
}  // namespace distrib
