// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/rounded.hpp>
#include <distrib/ps/job/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

// An additional safeguard beside `Rounded`, see core/rounded.hpp.
#if defined(__clang__)
#pragma float_control(push)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

// Arithmetic on one row of a table: the same bits under every compiler flag.
namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns how many rows of `row_size` elements `elements` are. If they are not whole rows, sets `ec` to
/// `ps_errc::shape_mismatch` and returns 0.
[[nodiscard]] inline auto count_rows(std::size_t elements, std::size_t row_size, std::error_code& ec) noexcept
    -> std::size_t {
  if (row_size == 0 || elements % row_size != 0) {
    ec = ps_errc::shape_mismatch;
    return 0;
  }
  return elements / row_size;
}

/// True if `elements` are exactly `rows` rows. Computes no product that could overflow.
[[nodiscard]] constexpr auto is_rows(std::size_t elements, std::size_t rows, std::size_t row_size) noexcept -> bool {
  return row_size != 0 && elements % row_size == 0 && elements / row_size == rows;
}

[[nodiscard]] constexpr auto has_row(std::int64_t id, std::size_t rows) noexcept -> bool {
  return id >= 0 && static_cast<std::uint64_t>(id) < rows;
}

/// Calls `step(a, b)` with four elements of `to` and of `from`, and writes the result to `to`. If fewer than four are
/// left, the others are 0.
template <class Step>
[[gnu::always_inline]] inline void for_each_four(float* to, const float* from, std::size_t size, Step step) noexcept {
  const auto some = [&](std::size_t at, std::size_t count) __attribute__((always_inline)) {
    Float4 a{};
    Float4 b{};
    std::memcpy(&a, to + at, count * sizeof(float));
    std::memcpy(&b, from + at, count * sizeof(float));
    const Rounded<Float4> made = step(Rounded<Float4>{a}, Rounded<Float4>{b});
    std::memcpy(to + at, &made.value, count * sizeof(float));
  };
  std::size_t at = 0;
  for (; size - at >= 4; at += 4) some(at, 4);
  if (at < size) some(at, size - at);
}

[[nodiscard, gnu::always_inline]] inline auto four(float value) noexcept -> Rounded<Float4> {
  return {Float4{value, value, value, value}};
}

/// to = row. A call of memcpy costs more than the copy itself, so rows of whole cache lines, as most are, are copied
/// line by line.
DISTRIB_DECL void copy_row(float* to, const float* row, std::size_t size) noexcept;

/// to += row
inline void add_row(float* to, const float* row, std::size_t size) noexcept {
  for_each_four(to, row, size, [](auto sum, auto r) __attribute__((always_inline)) { return sum + r; });
}

/// to += row * weight
inline void add_weighted_row(float* to, const float* row, float weight, std::size_t size) noexcept {
  const Rounded<Float4> w = four(weight);
  for_each_four(to, row, size, [w](auto sum, auto r) __attribute__((always_inline)) { return sum + r * w; });
}

/// row /= divisor
inline void divide_row(float* row, float divisor, std::size_t size) noexcept {
  const Rounded<Float4> d = four(divisor);
  for_each_four(row, row, size, [d](auto r, auto) __attribute__((always_inline)) { return r / d; });
}

/// to = row * factor / divisor
DISTRIB_DECL void rescale_row(float* to, const float* row, float factor, float divisor, std::size_t size) noexcept;

/// Returns a[0] * b[0] + a[1] * b[1] + ... in double. Even and odd elements are summed separately, so that one addition
/// need not wait for the other; then both sums are added.
[[nodiscard]] DISTRIB_DECL auto dot(const float* a, const float* b, std::size_t size) noexcept -> Rounded<double>;

/// The l2 norm of a row.
[[nodiscard]] inline auto norm(const float* row, std::size_t size) noexcept -> Rounded<double> {
  return sqrt(dot(row, row, size));
}

/// Turns the gradient of a clipped row into that of `row`, whose norm `n` is above `max_norm`: max_norm / n * (gradient
/// - row * (row . gradient) / n^2). Computed in double, rounded at the end; in place.
DISTRIB_DECL void clip_gradient(float* gradient, const float* row, Rounded<double> n, float max_norm,
                                std::size_t size) noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/row_math.ipp>
#endif
