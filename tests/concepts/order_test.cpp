// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/order.hpp>

#include "support/catch.hpp"

namespace {

/// The least that is an Order.
struct Archetype {
  static constexpr bool shuffles = false;
  static constexpr bool repeats = false;
  static constexpr bool forgives = false;
  auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t;
  auto size() const -> std::uint64_t;
  auto plain() const -> Archetype;
  auto describe() const -> const char*;
};
static_assert(distrib::Order<Archetype>);

struct Silent : Archetype {
  void describe() const;
};
struct OnlyOnce : Archetype {
  OnlyOnce(const OnlyOnce&) = delete;
};
struct Vague : Archetype {
  auto size() const -> double;
};
static_assert(!distrib::Order<Silent>);
static_assert(!distrib::Order<OnlyOnce>);
static_assert(!distrib::Order<Vague>);
static_assert(!distrib::Order<std::uint64_t>);

}  // namespace

TEST_CASE("Order: the archetype is one", "[concepts]") { SUCCEED(); }
