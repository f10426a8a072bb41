// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/run.hpp>

#include <distrib/core/variables.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/updater.hpp>

#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/told_seeds.hpp"
#include "train/line_job.hpp"
#include "train/runtime_models.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace distrib;
using trainers::check_seeds;
using trainers::local_sha256;
using trainers::Sum;

namespace {

/// Keeps state from one call to the next, and so is not a function of its arguments.
struct ForgetfulLine : LineModel {
  auto gradients(const Batch<Example>& batch, const Values<Variables>& values, Gradients<Variables>& gradients,
                 StepContext context) const -> float {
    static int calls = 0;
    const float loss = LineModel::gradients(batch, values, gradients, context);
    get<"bias">(gradients)() *= 1.0F + 0.001F * static_cast<float>(++calls % 50);
    return loss;
  }
};

}  // namespace

TEST_CASE("A trainer ends in a simulated cluster with the bits of local mode, for any faults", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 2, .parts = 2, .steps = 20});
  const Sum sum = check_seeds("two shards", builder, folder.path().string(), local_sha256(builder), 60);
  if (sum.seeds < trainers::seeds) return;  // too few seeds to expect these faults
  CHECK(sum.refused_cuts > 0);
  CHECK(sum.again > 0);
}

TEST_CASE("A trainer ends with the same bits if shards have replicas", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto plain =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 1, .parts = 2, .steps = 20});
  check_seeds("replicas", plain.with_replicas(2), folder.path().string(), local_sha256(plain), 60);
}

TEST_CASE("A trainer that saves checkpoints ends with the same bits in a simulated cluster", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto plain =
      line_job::builder(line_model::write(folder.path()), {.workers = 2, .shards = 1, .parts = 1, .steps = 24});
  const auto saves = plain.with_hooks(SaveCheckpoint{.directory = "elsewhere", .every_steps = 4, .max_to_keep = 2});
  check_seeds("checkpoints", saves.with_updater(Adam{}), folder.path().string(),
              local_sha256(plain.with_updater(Adam{})), 48);
}

TEST_CASE(
    "A trainer of a model whose variables are known at run time ends with the bits of the same model at compile "
    "time",
    "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = line_model::write(folder.path());
  const line_job::Setup setup{.workers = 3, .shards = 2, .parts = 2, .steps = 20};
  const std::string expected = local_sha256(line_job::builder(data, setup));
  const auto builder = line_job::builder(data, setup, RuntimeLineModel{});
  CHECK(local_sha256(builder) == expected);
  check_seeds("run-time variables", builder, folder.path().string(), expected, 60);
}

namespace {

/// The line model, computed with a library of this version. The bits are the same for each.
struct VersionedLine : LineModel {
  int version = 1;
  auto describe() const -> std::string { return "line library " + std::to_string(version); }
};

}  // namespace

TEST_CASE("A trainer that is started again with another arithmetic ends with the bits of one history",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = line_model::write(folder.path());
  const line_job::Setup setup{.workers = 2, .shards = 2, .parts = 2, .steps = 12};
  VersionedLine newer;
  newer.version = 2;
  const auto before = line_job::builder(data, setup, VersionedLine{});
  const auto after = line_job::builder(data, setup, newer);
  const std::string expected = local_sha256(line_job::builder(data, setup));
  CHECK(local_sha256(before) == expected);
  const support::ToldSeeds told = support::told_seeds();
  unsigned wrong = 0, changed = 0;
  for (std::uint64_t seed = told.from; seed < told.from + told.count.value_or(trainers::seeds) && wrong < 3; ++seed) {
    const sim::Outcome outcome = sim::run(before, after, {.seed = seed, .directory = folder.path().string()});
    const bool same = outcome.wrong.empty() && outcome.parameters_sha256 == expected;
    changed += outcome.changed_after ? 1U : 0U;
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    CHECK(same);
    wrong += same ? 0U : 1U;
  }
  if (!told.count) CHECK(changed > trainers::seeds / 2);
}

namespace {

/// A job with this learning rate: the tests start it again with another one.
template <class Data>
auto job_of_rate(const Data& data, float learning_rate, Step steps = 12) {
  return line_job::builder(data, {.workers = 2, .shards = 2, .parts = 2, .steps = steps})
      .with_updater(Momentum{.learning_rate = learning_rate, .momentum = 0.5F});
}

/// The results of local mode with the same change of the learning rate, by the step after which the new rate holds.
/// Each is computed once.
template <class Data>
class ChangedLocally {
 public:
  explicit ChangedLocally(const Data& data) : data_{data} {}

  auto sha256(Step changed_after) -> const std::string& {
    std::string& known = known_[changed_after];
    if (known.empty()) known = run(changed_after);
    return known;
  }
  [[nodiscard]] auto size() const -> std::size_t { return known_.size(); }

 private:
  auto run(Step changed_after) const -> std::string {
    const support::TempDirectory folder;
    const SaveCheckpoint save{.directory = folder.path().string()};
    if (changed_after == 0) return local_sha256(job_of_rate(data_, 0.4F));
    const std::string before = local_sha256(job_of_rate(data_, 0.1F, changed_after).with_hooks(save));
    return changed_after == 12 ? before : local_sha256(job_of_rate(data_, 0.4F).with_hooks(save));
  }

  const Data& data_;
  std::map<Step, std::string> known_;
};

}  // namespace

TEST_CASE("A trainer that is started again with another learning rate ends with the bits of one history",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = line_model::write(folder.path());
  const auto before = job_of_rate(data, 0.1F);
  const auto after = job_of_rate(data, 0.4F);
  ChangedLocally locally{data};
  const support::ToldSeeds told = support::told_seeds();
  unsigned wrong = 0, deaths = 0;
  for (std::uint64_t seed = told.from; seed < told.from + told.count.value_or(trainers::seeds) && wrong < 3; ++seed) {
    const sim::Outcome outcome = sim::run(before, after, {.seed = seed, .directory = folder.path().string()});
    const bool same =
        outcome.wrong.empty() && outcome.parameters_sha256 == locally.sha256(outcome.changed_after.value_or(12));
    deaths += outcome.deaths;
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    CHECK(same);
    wrong += same ? 0U : 1U;
  }
  if (told.count) return;
  CHECK(deaths > 0);
  CHECK(locally.size() > 5);  // the change came after many different steps
}

TEST_CASE("A trainer with local steps ends with the bits of local mode, for any faults", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 2, .parts = 2, .steps = 60})
          .with_updater(Momentum{.learning_rate = 0.7F, .momentum = 0.9F, .use_nesterov = true})
          .with_local_steps(4, AdamW{.learning_rate = 0.02F});
  check_seeds("local steps", builder, folder.path().string(), local_sha256(builder), 45);
}

namespace {

/// A planted mistake: momentum whose slot is not made anew in each round. The state lives as long as the memory of the
/// worker's own values: until its process ends.
struct KeptMomentum : Momentum {
  static constexpr std::string_view name = "kept_momentum";
  static auto parse(std::string_view text) -> std::optional<KeptMomentum> {
    const auto plain = Momentum::parse(text);
    if (!plain) return std::nullopt;
    KeptMomentum kept;
    static_cast<Momentum&>(kept) = *plain;
    return kept;
  }
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slots) const {
    static std::map<const float*, std::vector<float>> kept;
    std::vector<float>& mine = kept[to.data()];
    if (mine.size() != to.size()) mine.assign(to.size(), 0.0F);
    std::ranges::copy(mine, slots[0].begin());
    Momentum::apply(step, gradient, from, to, slots);
    mine.assign(slots[0].begin(), slots[0].end());
  }
  auto operator==(const KeptMomentum&) const -> bool = default;
};

}  // namespace

TEST_CASE("Local steps whose state is kept from round to round are found in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 1, .parts = 1, .steps = 60});
  unsigned not_repeatable = 0;
  const auto found = [&](const auto& with) {
    unsigned wrong = 0;
    const std::string expected = local_sha256(with);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sim::Outcome outcome = sim::run(with, {.seed = seed});
      if (outcome.wrong.find("was computed twice, with different bytes") != std::string::npos) ++not_repeatable;
      if (!outcome.wrong.empty() || outcome.parameters_sha256 != expected) ++wrong;
    }
    return wrong;
  };
  KeptMomentum kept;
  kept.learning_rate = 0.05F;
  CHECK(found(builder.with_local_steps(4, Momentum{.learning_rate = 0.05F})) == 0);
  CHECK(found(builder.with_local_steps(4, kept)) > 10);
  CHECK(not_repeatable > 5);
}

TEST_CASE("A model that is not a function of its arguments is detected in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = train(ForgetfulLine{})
                           .with_data(line_model::write(folder.path()).batch(10))
                           .with_hooks(StopAtStep{20})
                           .with_local_mode({.workers = 3});
  unsigned told = 0, other_bits = 0;
  const std::string expected = local_sha256(builder);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const sim::Outcome outcome = sim::run(builder, {.seed = seed});
    if (!outcome.wrong.empty()) ++told;
    else if (outcome.parameters_sha256 != expected) ++other_bits;
  }
  CHECK(told + other_bits > 5);
}

TEST_CASE("A simulated run is a function of its seed, and its trace shows what happens", "[sim]") {
  const support::TempDirectory folder;
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 2, .parts = 2, .steps = 8});
  const auto trace_of = [&](std::uint64_t seed) {
    std::string text;
    sim::Options options{.seed = seed, .directory = folder.path().string()};
    options.faults = sim::Faults{.resets = 2, .worker_deaths = 2, .ps_deaths = 2, .power_losses = 1};
    options.trace = [&](std::string_view line) { text += std::string{line} + "\n"; };
    CHECK(sim::run(builder, options).wrong == "");
    return text;
  };
  const std::string once = trace_of(7);
  CHECK(trace_of(7) == once);
  CHECK(trace_of(8) != once);
  for (const char* line : {" rank 0 starts\n", " computes step 8\n", " dies\n", " going on from its cut of step ",
                           " power is lost\n", " is done\n", " ends with code 0\n"}) {
    CAPTURE(once);
    CHECK(once.find(line) != std::string::npos);
  }
}

TEST_CASE("The text about what went wrong in a simulated run starts with its seed", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = line_job::builder(line_model::write(folder.path()));
  const sim::Outcome outcome = sim::run(builder, {.seed = 3, .most_events = 100});
  CHECK(outcome.wrong.starts_with("seed 3: the job has not ended within Options::most_events events (after "));
  CHECK(outcome.parameters_sha256.empty());
  CHECK(outcome.steps == 0);
}

namespace {

/// How processes fail while the ranks change.
auto scaled_faults(std::uint64_t seed) -> sim::Faults {
  sim::Faults faults;
  faults.resets = static_cast<unsigned>(seed % 4);
  faults.worker_deaths = static_cast<unsigned>(seed % 3);
  faults.ps_deaths = static_cast<unsigned>(seed / 3 % 3);
  faults.scalings = 6;
  return faults;
}

}  // namespace

TEST_CASE("A trainer whose ranks change ends with the bits of local mode that is given the same log",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const line_job::Setup setup{.workers = 3, .shards = 1, .parts = 2, .steps = 24};
  const auto builder = line_job::builder(line_model::write(folder.path()), setup).with_most_ranks(5);
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t seeds = told.count.value_or(trainers::seeds);
  unsigned wrong = 0, changed = 0;
  for (std::uint64_t seed = told.from; seed < told.from + seeds && wrong < 3; ++seed) {
    const sim::Outcome outcome =
        sim::run(builder, {.seed = seed, .faults = scaled_faults(seed), .directory = folder.path().string()});
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    REQUIRE(outcome.ranks != nullptr);
    LocalMode local{.workers = setup.workers, .shards = setup.shards};
    for (const SharedRankEntry& entry : outcome.ranks->entries())
      if (entry->number != 0) local.changes.push_back(*entry);
    const bool same =
        outcome.wrong.empty() && outcome.parameters_sha256 == local_sha256(builder.with_local_mode(local));
    CHECK(same);
    wrong += same ? 0U : 1U;
    changed += local.changes.empty() ? 0U : 1U;
  }
  if (!told.count) CHECK(changed > seeds / 4);
}
