// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/order.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest Order.
struct LeastOrder {
  static constexpr bool shuffles = false;
  static constexpr bool repeats = false;
  static constexpr bool forgives = false;
  auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t;
  auto size() const -> std::uint64_t;
  auto plain() const -> LeastOrder;
  auto describe() const -> const char*;
};
static_assert(distrib::Order<LeastOrder>);

struct SilentOrder : LeastOrder {
  void describe() const;
};
struct OnlyOnce : LeastOrder {
  OnlyOnce(const OnlyOnce&) = delete;
};
struct Vague : LeastOrder {
  auto size() const -> double;
};
static_assert(!distrib::Order<SilentOrder>);
static_assert(!distrib::Order<OnlyOnce>);
static_assert(!distrib::Order<Vague>);
static_assert(!distrib::Order<std::uint64_t>);

}  // namespace

TEST_CASE("Order: accepts the smallest model", "[concepts]") { SUCCEED(); }
