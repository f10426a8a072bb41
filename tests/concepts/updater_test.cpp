// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include "support/catch.hpp"

#include <string>

namespace {

/// The smallest Updater.
struct LeastUpdater {
  static constexpr const char* name = "archetype";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view text) -> std::optional<LeastUpdater> {
    return text.empty() ? std::optional{LeastUpdater{}} : std::nullopt;
  }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const LeastUpdater&) const -> bool = default;
};
static_assert(distrib::Updater<LeastUpdater>);

struct NamelessUpdater : LeastUpdater {
  static auto parse(std::string_view) -> std::optional<NamelessUpdater>;
  static constexpr int name = 7;
};
struct NoSlots : LeastUpdater {
  static auto parse(std::string_view) -> std::optional<NoSlots>;
  static auto slots() -> int { return 0; }
};
struct TextlessUpdater : LeastUpdater {
  static auto parse(std::string_view) -> std::optional<TextlessUpdater>;
  void describe() const {}
};
struct ChangingUpdater : LeastUpdater {
  static auto parse(std::string_view) -> std::optional<ChangingUpdater>;
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) {}
};
struct ParsesAnother : LeastUpdater {};  // its parse returns a LeastUpdater
struct NoOptional : LeastUpdater {
  static auto parse(std::string_view) -> const NoOptional*;
};
struct NoStaticParse : LeastUpdater {
  auto parse(std::string_view) const -> std::optional<NoStaticParse>;
};
struct ValuelessUpdater : LeastUpdater {
  static auto parse(std::string_view) -> std::optional<ValuelessUpdater>;
  ValuelessUpdater(const ValuelessUpdater&) = delete;
};
static_assert(!distrib::Updater<NamelessUpdater>);
static_assert(!distrib::Updater<NoSlots>);
static_assert(!distrib::Updater<TextlessUpdater>);
static_assert(!distrib::Updater<ChangingUpdater>);
static_assert(!distrib::Updater<ParsesAnother>);
static_assert(!distrib::Updater<NoOptional>);
static_assert(!distrib::Updater<NoStaticParse>);
static_assert(!distrib::Updater<ValuelessUpdater>);
static_assert(!distrib::Updater<int>);

}  // namespace

TEST_CASE("Updater: explain_updater compiles for the smallest model", "[concepts]") {
  distrib::detail::explain_updater<LeastUpdater>();
  CHECK(LeastUpdater{}.describe().empty());
  CHECK(LeastUpdater::parse("") == LeastUpdater{});
  CHECK_FALSE(LeastUpdater::parse("x"));
}
