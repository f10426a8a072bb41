// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include "support/catch.hpp"

#include <string>

namespace {

/// The least that is an Updater.
struct Archetype {
  static constexpr const char* name = "archetype";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view text) -> std::optional<Archetype> {
    return text.empty() ? std::optional{Archetype{}} : std::nullopt;
  }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Archetype&) const -> bool = default;
};
static_assert(distrib::Updater<Archetype>);

struct NoName : Archetype {
  static auto parse(std::string_view) -> std::optional<NoName>;
  static constexpr int name = 7;
};
struct NoSlots : Archetype {
  static auto parse(std::string_view) -> std::optional<NoSlots>;
  static auto slots() -> int { return 0; }
};
struct NoText : Archetype {
  static auto parse(std::string_view) -> std::optional<NoText>;
  void describe() const {}
};
struct ChangesItself : Archetype {
  static auto parse(std::string_view) -> std::optional<ChangesItself>;
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) {}
};
struct ParsesAnother : Archetype {};  // its parse makes an Archetype
struct NoOptional : Archetype {
  static auto parse(std::string_view) -> const NoOptional*;
};
struct NoStaticParse : Archetype {
  auto parse(std::string_view) const -> std::optional<NoStaticParse>;
};
struct NoValue : Archetype {
  static auto parse(std::string_view) -> std::optional<NoValue>;
  NoValue(const NoValue&) = delete;
};
static_assert(!distrib::Updater<NoName>);
static_assert(!distrib::Updater<NoSlots>);
static_assert(!distrib::Updater<NoText>);
static_assert(!distrib::Updater<ChangesItself>);
static_assert(!distrib::Updater<ParsesAnother>);
static_assert(!distrib::Updater<NoOptional>);
static_assert(!distrib::Updater<NoStaticParse>);
static_assert(!distrib::Updater<NoValue>);
static_assert(!distrib::Updater<int>);

}  // namespace

TEST_CASE("Updater: the archetype may say what it is", "[concepts]") {
  distrib::detail::explain_updater<Archetype>();
  CHECK(Archetype{}.describe().empty());
  CHECK(Archetype::parse("") == Archetype{});
  CHECK_FALSE(Archetype::parse("x"));
}
