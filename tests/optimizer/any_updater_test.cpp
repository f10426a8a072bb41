// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/any_updater.hpp>

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <system_error>
#include <vector>

using distrib::AnyUpdater;

namespace {

/// A user's updater without `apply_rows`: w -= g, and the slot counts updates.
struct Counting {
  static constexpr std::string_view name = "counting";
  auto slots() const -> std::array<distrib::Slot, 1> { return {{{.name = "count", .initial = 7.0F}}}; }
  auto describe() const -> std::string { return {}; }
  static auto parse(std::string_view) -> std::optional<Counting> { return Counting{}; }
  void apply(distrib::UpdateStep, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> counts) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = from[i] - gradient[i];
      counts[0][i] += 1.0F;
    }
  }
  auto operator==(const Counting&) const -> bool = default;
};

}  // namespace

TEST_CASE("AnyUpdater: has the text, slots and traits of its updater", "[optimizer]") {
  const AnyUpdater sgd = distrib::Sgd{.learning_rate = 0.5F};
  CHECK(sgd.text() == "sgd learning_rate=0.5");
  CHECK(sgd.slots().empty());
  CHECK_FALSE(sgd.updates_every_row());
  const AnyUpdater adagrad = distrib::Adagrad{.initial_accumulator_value = 0.25F};
  REQUIRE(adagrad.slots().size() == 1);
  CHECK(adagrad.slots()[0] == distrib::Slot{"Adagrad", 0.25F});
  CHECK(AnyUpdater{distrib::Adam{}}.updates_every_row());
  const AnyUpdater copy = adagrad;
  CHECK(copy.text() == adagrad.text());
  std::error_code ec;
  adagrad.check(ec);
  CHECK_FALSE(ec);
  AnyUpdater{distrib::Adagrad{.initial_accumulator_value = 0}}.check(ec);
  CHECK(ec == distrib::optimizer_errc::accumulator_not_positive);
}

TEST_CASE("AnyUpdater: updates a block as its updater does", "[optimizer]") {
  const distrib::Adagrad adagrad{.learning_rate = 0.5F};
  const std::vector<float> gradient = reference::numbers(101, 1);
  std::vector<float> values[2], sums[2];
  for (int i = 0; i < 2; ++i) {
    values[i] = reference::numbers(101, 2);
    sums[i].assign(101, 0.1F);
    const std::array<std::span<float>, 1> slots{sums[i]};
    if (i == 0) adagrad.apply({1}, gradient, values[i], values[i], slots);
    else AnyUpdater{adagrad}.apply({1}, gradient, values[i], values[i], slots);
  }
  CHECK(values[0] == values[1]);
  CHECK(sums[0] == sums[1]);
}

TEST_CASE("AnyUpdater: updates rows by apply if the updater has no apply_rows", "[optimizer]") {
  std::vector<float> memory{1, 2, 3, 7, 7, 7,  //
                            4, 5, 6, 7, 7, 7};
  float* const rows[] = {memory.data() + 6, memory.data()};
  const std::vector<float> gradients{1, 1, 1, 0, 2, 0};
  AnyUpdater{Counting{}}.apply_rows({1}, {.dim = 3, .rows = rows, .gradients = gradients});
  CHECK(memory == std::vector<float>{1, 0, 3, 8, 8, 8, 3, 4, 5, 8, 8, 8});
}
