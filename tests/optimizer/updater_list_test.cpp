// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/updater_list.hpp>

#include "support/catch.hpp"

#include <string>
#include <type_traits>

using distrib::Adam;
using distrib::Momentum;
using distrib::Sgd;
using distrib::StandardUpdaters;
using distrib::UpdaterList;

namespace {

/// An updater of somebody's own, without hyper-parameters.
struct Still {
  static constexpr std::string_view name = "still";
  static constexpr std::array<distrib::Slot, 0> slots{};
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view text) -> std::optional<Still> {
    return text.empty() ? std::optional{Still{}} : std::nullopt;
  }
  void apply(distrib::UpdateStep, std::span<const float>, std::span<const float>, std::span<float>,
             std::span<const std::span<float>>) const {}
  auto operator==(const Still&) const -> bool = default;
};

/// One whose parse forgets what it was told.
struct Forgetful : Still {
  static constexpr std::string_view name = "forgetful";
  float rate = 0.5F;
  auto describe() const -> std::string { return distrib::hyper_parameter("rate", rate); }
  static auto parse(std::string_view) -> std::optional<Forgetful> { return Forgetful{}; }
  auto operator==(const Forgetful&) const -> bool = default;
};

/// "Sgd learning_rate=0.05": what `list` makes of a text, "" when it refuses it.
template <class List>
auto made_of(const List& list, std::string_view text) -> std::string {
  std::string made;
  const bool found = list.visit(text, [&made](auto updater) {
    made = std::string{decltype(updater)::name} + " " + updater.describe();
  });
  CHECK(found == !made.empty());
  return made;
}

}  // namespace

TEST_CASE("UpdaterList: the updater that a job describes", "[optimizer]") {
  for (const std::string text :
       {"sgd learning_rate=0.05", "sgd learning_rate=linear(0.02,0,12000)",
        "momentum learning_rate=0.05 momentum=0.9 use_nesterov=false",
        "adam learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08"}) {
    CHECK(made_of(StandardUpdaters{}, text) == text);
    CHECK(made_of(distrib::updaters<>, text) == text);
    CHECK(made_of(distrib::updaters<Still, Forgetful>, text) == text);
  }
}

TEST_CASE("UpdaterList: everything else is refused, and nothing is called", "[optimizer]") {
  for (const char* text : {"", " ", "sgd", "sgd ", "Sgd learning_rate=0.05", "sgd learning_rate=0.050",
                           "sgd learning_rate=0.05 ", "sgd  learning_rate=0.05", " sgd learning_rate=0.05",
                           "momentum learning_rate=0.05", "adagrad learning_rate=0.05", "learning_rate=0.05",
                           "still "}) {
    CAPTURE(text);
    CHECK(made_of(StandardUpdaters{}, text).empty());
  }
}

TEST_CASE("UpdaterList: updaters of one's own come first", "[optimizer]") {
  STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(distrib::updaters<Still>)>,
                                UpdaterList<Still, Sgd, Momentum, Adam>>);
  STATIC_REQUIRE(std::is_empty_v<StandardUpdaters>);
  CHECK(made_of(distrib::updaters<Still>, "still ") == "still ");
  CHECK(made_of(distrib::updaters<Still>, "still more").empty());
}

TEST_CASE("UpdaterList: one of the library's may be named again", "[optimizer]") {
  CHECK(made_of(distrib::updaters<Sgd>, "sgd learning_rate=0.05") == "sgd learning_rate=0.05");
}

TEST_CASE("UpdaterList: an updater that would train with other numbers is refused", "[optimizer]") {
  CHECK(made_of(distrib::updaters<Forgetful>, "forgetful rate=0.5") == "forgetful rate=0.5");
  CHECK(made_of(distrib::updaters<Forgetful>, "forgetful rate=0.25").empty());
}
