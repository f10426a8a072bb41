// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/checkpoint_values.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/table_model.hpp"

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace {

auto bias_of(const std::string& prefix, const std::string& name) -> float {
  float bias = 0;
  const auto reader = distrib::BundleReader::open(prefix);
  reader.read(name, distrib::Slice::whole({1}), {reinterpret_cast<std::byte*>(&bias), sizeof bias});
  return bias;
}

}  // namespace

TEST_CASE("checkpoint_values: values or averages, with the rows that are asked for", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto recipe = [&](bool averages, std::uint64_t seed = 7) {
    return distrib::train(TableModel{})
        .with_data(data.shuffle(3).batch(10))
        .with_updater(distrib::Adagrad{.learning_rate = 0.5F})
        .with_hooks(distrib::StopAtStep{20},
                    distrib::SaveCheckpoint{.directory = (directory / "out").string(), .every_steps = 20},
                    distrib::Evaluate{.data = data.batch(64), .averages = averages})
        .with_local_mode({.shards = 2})
        .with_moving_average({.decay = 0.9F})
        .with_seed(seed);
  };
  auto trainer = recipe(false).build();
  REQUIRE(trainer.run() == 0);
  const std::string prefix = trainer.result().checkpoint;
  const auto plan_of = [&](bool averages, std::uint64_t seed = 7) { return recipe(averages, seed).plan(); };
  const distrib::KeyLists keys{{3, 5}, {1, 2, 39}};

  const distrib::RuntimeValues values = distrib::checkpoint_values(plan_of(false), keys, prefix);
  const distrib::RuntimeValues averages = distrib::checkpoint_values(plan_of(true), keys, prefix);
  const auto bias = [](const distrib::RuntimeValues& of) { return *reinterpret_cast<const float*>(of.data(0)); };
  CHECK(bias(values) == bias_of(prefix, "bias"));
  CHECK(bias(averages) == bias_of(prefix, "bias/ExponentialMovingAverage"));
  CHECK(bias(averages) != bias(values));
  for (const auto* of : {&values, &averages}) {
    REQUIRE(of->rows(0).count() == 2);
    REQUIRE(of->rows(1).count() == 3);
  }
  const std::vector<float> rows{values.rows(1).data(), values.rows(1).data() + 12};
  CHECK(rows != std::vector<float>(averages.rows(1).data(), averages.rows(1).data() + 12));

  // A row that no step has used.
  const distrib::KeyLists unused{{1'000'000}, {}};
  const auto first_of = [&](const distrib::TrainingPlan& plan) {
    return *distrib::checkpoint_values(plan, unused, prefix).rows(0).data();
  };
  CHECK(first_of(plan_of(false)) != 0);
  CHECK(first_of(plan_of(true)) == first_of(plan_of(false)));
  CHECK(first_of(plan_of(false, 8)) != first_of(plan_of(false)));

  CHECK_THROWS_AS(distrib::checkpoint_values(plan_of(false), keys, prefix + "0"), std::system_error);
}
