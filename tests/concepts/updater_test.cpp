// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include "support/catch.hpp"

#include <string>

namespace {

/// The least that is an Updater.
struct Archetype {
  static constexpr const char* name = "archetype";
  static constexpr std::array<distrib::Slot, 0> slots{};
  auto describe() const -> std::string { return {}; }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Archetype&) const -> bool = default;
};
static_assert(distrib::Updater<Archetype>);

struct NoName : Archetype {
  static constexpr int name = 7;
};
struct NoSlots : Archetype {
  static constexpr int slots = 0;
};
struct NoText : Archetype {
  void describe() const {}
};
struct ChangesItself : Archetype {
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) {}
};
struct NoValue : Archetype {
  NoValue(const NoValue&) = delete;
};
static_assert(!distrib::Updater<NoName>);
static_assert(!distrib::Updater<NoSlots>);
static_assert(!distrib::Updater<NoText>);
static_assert(!distrib::Updater<ChangesItself>);
static_assert(!distrib::Updater<NoValue>);
static_assert(!distrib::Updater<int>);

}  // namespace

TEST_CASE("Updater: the archetype may say what it is", "[concepts]") {
  distrib::detail::explain_updater<Archetype>();
  CHECK(Archetype{}.describe().empty());
}
