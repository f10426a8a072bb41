// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater.hpp>

#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/amsgrad.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/lazy_adam.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/torch_adam.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The least that an updater must have.
struct Says {
  static constexpr std::string_view name = "says";
  auto slots() const -> std::array<distrib::Slot, 2> { return {}; }
  auto describe() const -> std::string { return "nothing"; }
  static auto parse(std::string_view) -> std::optional<Says> { return Says{}; }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Says&) const -> bool = default;
};

/// It updates every row, and its `check` always fails.
struct SaysMore : Says {
  static constexpr bool updates_every_row = true;
  static auto parse(std::string_view) -> std::optional<SaysMore> { return SaysMore{}; }
  void check(std::error_code& ec) const { ec = distrib::optimizer_errc::negative; }
};

}  // namespace

TEST_CASE("Updater: without updates_every_row it updates only rows with a gradient", "[optimizer]") {
  STATIC_REQUIRE(distrib::detail::slot_count<Says> == 2);
  STATIC_REQUIRE_FALSE(distrib::detail::updates_every_row<Says>);
  STATIC_REQUIRE(distrib::detail::updates_every_row<SaysMore>);
}

TEST_CASE("check_updater: without a check there is no error; with one the error names the updater", "[optimizer]") {
  std::error_code ec = distrib::optimizer_errc::negative;
  distrib::detail::check_updater(Says{}, ec);
  CHECK_FALSE(ec);
  distrib::detail::check_updater(SaysMore{}, ec);
  CHECK(ec == distrib::optimizer_errc::negative);
  CHECK_THROWS_WITH(distrib::detail::check_updater(SaysMore{}), ContainsSubstring("says nothing"));
}

namespace {

/// What two updates from new slots make of 1, with gradient 0.5 and then 0.25. `before`: updates before the slots.
template <class U> auto two_updates(const U& updater, std::uint64_t before) -> float {
  std::vector<float> value{1.0F};
  std::vector<std::vector<float>> slots;
  std::vector<std::span<float>> blocks;
  for (const distrib::Slot& slot : updater.slots()) slots.push_back({slot.initial});
  for (auto& slot : slots) blocks.emplace_back(slot);
  for (const std::uint64_t i : {1U, 2U})
    updater.apply({.count = before + i, .before_slots = before}, std::vector{i == 1 ? 0.5F : 0.25F}, value, value,
                  blocks);
  return value[0];
}

/// With a rate that does not change, slots that begin later are like slots at the beginning; a schedule goes on.
template <class U> void check_later_slots(U updater) {
  CAPTURE(updater.describe());
  updater.learning_rate = 0.1F;
  CHECK(two_updates(updater, 5) == two_updates(updater, 0));
  updater.learning_rate = distrib::StepDecay{.first = 0.2F, .factor = 0.5, .every = 5};
  const float later = two_updates(updater, 5);
  CHECK(two_updates(updater, 0) != later);
  updater.learning_rate = 0.1F;
  CHECK(two_updates(updater, 0) == later);
}

}  // namespace

TEST_CASE("UpdateStep: slots that begin anew are corrected as at the beginning, and the schedule goes on",
          "[optimizer]") {
  CHECK(distrib::UpdateStep{7}.of_slots() == 7);
  CHECK(distrib::UpdateStep{.count = 7, .before_slots = 5}.of_slots() == 2);
  check_later_slots(distrib::Momentum{.dampening = 0.5F});
  check_later_slots(distrib::Adam{});
  check_later_slots(distrib::LazyAdam{});
  check_later_slots(distrib::AdamW{});
  check_later_slots(distrib::AMSGrad{});
  check_later_slots(distrib::TorchAdam{});
  check_later_slots(distrib::TorchAdam{.weight_decay = 0.1F, .decoupled_weight_decay = true});
}
