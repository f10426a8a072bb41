// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace distrib {
inline namespace v0 {
namespace sim {

/// Random numbers from one seed (splitmix64): the same on every machine. A value.
///
/// Threads: one at a time.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_{seed * 0xbf58476d1ce4e5b9U + 1} {}

  [[nodiscard]] auto next() noexcept -> std::uint64_t {
    return distrib::detail::mix_bits(state_ += 0x9e3779b97f4a7c15U);
  }

  /// Returns a number from 0 to n - 1; n > 0.
  [[nodiscard]] auto below(std::uint64_t n) noexcept -> std::uint64_t { return next() % n; }

  /// Returns a number from `first` to `last`, both included. `last` must not be below `first`.
  [[nodiscard]] auto between(std::uint64_t first, std::uint64_t last) noexcept -> std::uint64_t {
    return first + below(last - first + 1);
  }

  /// Returns one of these; the list must not be empty.
  template <class T>
  [[nodiscard]] auto pick(std::initializer_list<T> of) noexcept -> T {
    return of.begin()[below(of.size())];
  }

  /// True in `chance` of 100 cases.
  [[nodiscard]] auto percent(unsigned chance) noexcept -> bool { return below(100) < chance; }

 private:
  std::uint64_t state_;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib
