// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater_list.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using distrib::Sgd;
using distrib::StandardUpdaters;

namespace {

/// A user's updater without hyper-parameters.
struct Still {
  static constexpr std::string_view name = "still";
  static auto slots() -> std::array<distrib::Slot, 0> { return {}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view text) -> std::optional<Still> {
    return text.empty() ? std::optional{Still{}} : std::nullopt;
  }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Still&) const -> bool = default;
};

/// An updater whose `parse` ignores its text.
struct Forgetful : Still {
  static constexpr std::string_view name = "forgetful";
  float rate = 0.5F;
  auto describe() const -> std::string { return distrib::detail::hyper_parameter("rate", rate); }
  static auto parse(std::string_view) -> std::optional<Forgetful> { return Forgetful{}; }
  auto operator==(const Forgetful&) const -> bool = default;
};

/// The text of the updater that `list` finds; empty if it finds none.
template <class List>
auto made_of(const List& list, std::string_view text) -> std::string {
  const auto found = list(text);
  return found ? found->text() : std::string{};
}

}  // namespace

TEST_CASE("UpdaterList: finds the updater that a job describes", "[optimizer]") {
  for (const std::string text :
       {"sgd learning_rate=0.05", "sgd learning_rate=linear(0.02,0,12000)",
        "momentum learning_rate=0.05 momentum=0.9 use_nesterov=false",
        "adagrad learning_rate=0.05 initial_accumulator_value=0.1",
        "rmsprop learning_rate=0.01 decay=0.9 momentum=0 epsilon=1e-10",
        "centered_rmsprop learning_rate=0.01 decay=0.9 momentum=0 epsilon=1e-10",
        "adam learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08",
        "amsgrad learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08",
        "lazy_adam learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08",
        "adamw learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.004",
        "ftrl learning_rate=0.001 learning_rate_power=-0.5 initial_accumulator_value=0.1 l1=0 l2=0 l2_shrinkage=0",
        "torch_adam learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0 "
        "decoupled_weight_decay=false",
        "torch_adagrad learning_rate=0.01 rate_decay=0 weight_decay=0 initial_accumulator_value=0 epsilon=1e-10",
        "torch_rmsprop learning_rate=0.01 decay=0.99 epsilon=1e-08 weight_decay=0 momentum=0"}) {
    CHECK(made_of(StandardUpdaters{}, text) == text);
    CHECK(made_of(distrib::updaters<>, text) == text);
    CHECK(made_of(distrib::updaters<Still, Forgetful>, text) == text);
  }
}

TEST_CASE("UpdaterList: finds updaters with schedules and with a weight decay", "[optimizer]") {
  for (const std::string text :
       {"sgd learning_rate=warm_up(5,0.1,cosine_decay(0.1,0,100)) weight_decay=1e-04",
        "momentum learning_rate=multi_step_decay(0.1,0.1,30,60) momentum=0.9 use_nesterov=true weight_decay=1e-04",
        "momentum learning_rate=0.05 momentum=0.9 use_nesterov=false dampening=0.5",
        "adam learning_rate=one_cycle(0.1,90,0.3,25,10000) beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01"})
    CHECK(made_of(StandardUpdaters{}, text) == text);
  for (const char* text : {"sgd learning_rate=0.05 weight_decay=0", "sgd learning_rate=0.05 weight_decay=-1",
                           "sgd learning_rate=step_decay(0.1,0.5,0)", "sgd learning_rate=multi_step_decay(0.1,0.5,2,1)",
                           "momentum learning_rate=0.05 momentum=0.9 use_nesterov=true dampening=0.5"}) {
    CAPTURE(text);
    CHECK(made_of(StandardUpdaters{}, text).empty());
  }
}

TEST_CASE("UpdaterList: refuses everything else, also an updater that cannot be trained with", "[optimizer]") {
  for (const char* text : {"", " ", "sgd", "sgd ", "Sgd learning_rate=0.05", "sgd learning_rate=0.050",
                           "sgd learning_rate=0.05 ", "sgd  learning_rate=0.05", " sgd learning_rate=0.05",
                           "momentum learning_rate=0.05", "adagrad learning_rate=0.05", "learning_rate=0.05",
                           "adagrad learning_rate=0.05 initial_accumulator_value=0", "still "}) {
    CAPTURE(text);
    CHECK(made_of(StandardUpdaters{}, text).empty());
  }
}

TEST_CASE("UpdaterList: adds the user's updaters to the library's", "[optimizer]") {
  STATIC_REQUIRE(std::is_empty_v<StandardUpdaters>);
  CHECK(made_of(distrib::updaters<Still>, "still ") == "still ");
  CHECK(made_of(distrib::updaters<Still>, "still more").empty());
}

TEST_CASE("UpdaterList: may name an updater of the library again", "[optimizer]") {
  CHECK(made_of(distrib::updaters<Sgd>, "sgd learning_rate=0.05") == "sgd learning_rate=0.05");
}

TEST_CASE("UpdaterList: refuses an updater that would train with other numbers", "[optimizer]") {
  CHECK(made_of(distrib::updaters<Forgetful>, "forgetful rate=0.5") == "forgetful rate=0.5");
  CHECK(made_of(distrib::updaters<Forgetful>, "forgetful rate=0.25").empty());
}

namespace {

/// Returns the values and slots after three updates with this learning rate and this factor.
auto after_three_updates(std::string text, const std::string& rate, double factor) -> std::vector<std::vector<float>> {
  text.replace(text.find("RATE"), 4, rate);
  const auto updater = StandardUpdaters{}(text);
  REQUIRE(updater);
  CHECK(updater->scales_rate());
  std::vector<std::vector<float>> all{{1.0F, -2.0F, 0.5F}};
  for (const distrib::Slot& slot : updater->slots()) all.emplace_back(3, slot.begins_as_value ? 1.0F : slot.initial);
  std::vector<std::span<float>> slots{all.begin() + 1, all.end()};
  for (std::uint64_t count = 1; count <= 3; ++count) {
    const float gradient[] = {0.25F, 0.75F, -0.125F * static_cast<float>(count)};
    updater->apply({.count = count, .rate_factor = factor}, gradient, all[0], all[0], slots);
  }
  return all;
}

}  // namespace

TEST_CASE("UpdaterList: each updater of the library multiplies its learning rate by the factor of the update",
          "[optimizer]") {
  for (const std::string text :
       {"sgd learning_rate=RATE", "momentum learning_rate=RATE momentum=0.9 use_nesterov=false",
        "momentum learning_rate=RATE momentum=0.9 use_nesterov=true",
        "adagrad learning_rate=RATE initial_accumulator_value=0.1",
        "rmsprop learning_rate=RATE decay=0.9 momentum=0.5 epsilon=1e-10",
        "centered_rmsprop learning_rate=RATE decay=0.9 momentum=0.5 epsilon=1e-10",
        "adam learning_rate=RATE beta1=0.9 beta2=0.999 epsilon=1e-08",
        "amsgrad learning_rate=RATE beta1=0.9 beta2=0.999 epsilon=1e-08",
        "lazy_adam learning_rate=RATE beta1=0.9 beta2=0.999 epsilon=1e-08",
        "adamw learning_rate=RATE beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.004",
        "ftrl learning_rate=RATE learning_rate_power=-0.5 initial_accumulator_value=0.1 l1=0 l2=0 l2_shrinkage=0",
        "torch_adam learning_rate=RATE beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01 "
        "decoupled_weight_decay=true",
        "torch_adagrad learning_rate=RATE rate_decay=0.1 weight_decay=0 initial_accumulator_value=0 epsilon=1e-10",
        "torch_rmsprop learning_rate=RATE decay=0.99 epsilon=1e-08 weight_decay=0 momentum=0.5",
        "moving_average decay=0.5 sgd learning_rate=RATE"}) {
    CAPTURE(text);
    const auto doubled = after_three_updates(text, "0.25", 2);
    CHECK(doubled == after_three_updates(text, "0.5", 1));
    CHECK(doubled != after_three_updates(text, "0.25", 1));
  }
  CHECK_FALSE(distrib::AnyUpdater{Still{}}.scales_rate());
  CHECK_FALSE(distrib::averaged(Still{}, {.decay = 0.5F}).scales_rate());
}
