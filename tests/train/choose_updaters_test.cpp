// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/choose_updaters.hpp>

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/train/error.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::AnyUpdater;
using distrib::DType;
using distrib::ModelUpdaters;
using distrib::RuntimeVariables;
using distrib::Sgd;
using distrib::TrainingOptions;
using distrib::UpdaterOf;
using distrib::VariableInfo;

namespace {

/// The part of a recipe that is tested.
struct Given {
  AnyUpdater updater = Sgd{};
  std::vector<std::pair<std::string, AnyUpdater>> updaters_of = {};
  std::vector<std::pair<distrib::VariablePredicate, AnyUpdater>> updater_groups = {};

  auto choose(const RuntimeVariables& variables, const ModelUpdaters& of_model = {}) const -> distrib::ChosenUpdaters {
    TrainingOptions options;
    options.updater = updater;
    options.updaters_of = updaters_of;
    options.updater_groups = updater_groups;
    return choose_updaters(options, variables, of_model);
  }
};

auto rate(float learning_rate) -> AnyUpdater { return Sgd{.learning_rate = learning_rate}; }

// A network with a backbone and a head; "backbone/norm" begins like "backbone/norm2".
auto network() -> RuntimeVariables {
  return RuntimeVariables{{{"backbone/weight", DType::float32, {4, 4}},
                           {"backbone/bias", DType::float32, {4}},
                           {"backbone/norm2", DType::float32, {4, 1}},
                           {"backbone/norm", DType::float32, {4}},
                           {"head/weight", DType::float32, {4, 2}},
                           {"head/bias", DType::float32, {2}},
                           {"seen", DType::int64, {1}}},
                          {{.name = "user", .dim = 8}, {.name = "film", .dim = 8, .rows = 50}}};
}

auto is_flat(const VariableInfo& variable) -> bool { return variable.shape.rank() <= 1; }
auto is_backbone(const VariableInfo& variable) -> bool { return variable.name.starts_with("backbone/"); }

// Returns the learning rate of each variable and table, as a shard finds it from the lines of the job.
auto rates(const Given& given, const ModelUpdaters& of_model = {}) -> std::map<std::string, std::string> {
  const distrib::ChosenUpdaters chosen = given.choose(network(), of_model);
  distrib::Job job;
  job.updaters_of = chosen.updaters_of;
  REQUIRE(chosen.updaters.size() == chosen.updaters_of.size() + 1);
  for (std::size_t i = 0; i < chosen.updaters_of.size(); ++i)
    CHECK(chosen.updaters_of[i].updater == chosen.updaters[i + 1].text());
  std::map<std::string, std::string> found;
  const auto add = [&](const std::string& name) {
    const std::string text = chosen.updaters[job.updater_of(name)].text();
    found[name] = text.substr(text.find('=') + 1);
  };
  for (const VariableInfo& variable : network().infos())
    if (variable.name != "seen") add(variable.name);
  for (const distrib::TableInfo& table : network().table_infos()) add(table.name);
  return found;
}

using Rates = std::map<std::string, std::string>;

// All variables have rate 1 except these.
auto except(const Rates& others) -> Rates {
  Rates all = rates({.updater = rate(1)});
  for (const auto& [name, text] : others) all[name] = text;
  return all;
}

auto refusal(const Given& given, const ModelUpdaters& of_model = {}) -> std::string {
  try {
    static_cast<void>(given.choose(network(), of_model));
  } catch (const std::system_error& error) {
    CHECK((error.code() == distrib::train_errc::no_such_variable ||
           error.code() == distrib::optimizer_errc::accumulator_not_positive));
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("choose_updaters: without groups the lines are the prefixes of the recipe, in their order", "[train]") {
  const Given given{.updater = rate(1), .updaters_of = {{"head/", rate(2)}, {"backbone/norm", rate(3)}}};
  const distrib::ChosenUpdaters chosen = given.choose(network());
  CHECK(chosen.updaters_of == std::vector<UpdaterOf>{{"head/", rate(2).text()}, {"backbone/norm", rate(3).text()}});
  CHECK(rates(given) ==
        except({{"head/weight", "2"}, {"head/bias", "2"}, {"backbone/norm", "3"}, {"backbone/norm2", "3"}}));
  CHECK(Given{.updater = rate(1)}.choose(network()).updaters_of.empty());
  CHECK(Given{.updater = rate(1)}.choose(RuntimeVariables{}).updaters_of.empty());
}

TEST_CASE("choose_updaters: a predicate chooses by shape, and the lines name each variable", "[train]") {
  const Given given{.updater = rate(1), .updater_groups = {{is_flat, rate(2)}}};
  CHECK(rates(given) == except({{"backbone/bias", "2"}, {"backbone/norm", "2"}, {"head/bias", "2"}}));
  // A line for "backbone/norm" would change "backbone/norm2" too, so that has a line of its own.
  CHECK(given.choose(network()).updaters_of == std::vector<UpdaterOf>{{"backbone/bias", rate(2).text()},
                                                                      {"backbone/norm", rate(2).text()},
                                                                      {"backbone/norm2", rate(1).text()},
                                                                      {"head/bias", rate(2).text()}});
}

TEST_CASE("choose_updaters: of predicates that hold the later one counts", "[train]") {
  const Rates flat_wins = except({{"backbone/weight", "3"},
                                  {"backbone/norm2", "3"},
                                  {"backbone/bias", "2"},
                                  {"backbone/norm", "2"},
                                  {"head/bias", "2"}});
  CHECK(rates({.updater = rate(1), .updater_groups = {{is_backbone, rate(3)}, {is_flat, rate(2)}}}) == flat_wins);
  const Rates backbone_wins = except({{"backbone/weight", "3"},
                                      {"backbone/norm2", "3"},
                                      {"backbone/bias", "3"},
                                      {"backbone/norm", "3"},
                                      {"head/bias", "2"}});
  CHECK(rates({.updater = rate(1), .updater_groups = {{is_flat, rate(2)}, {is_backbone, rate(3)}}}) == backbone_wins);
}

TEST_CASE("choose_updaters: a prefix counts before any predicate, and the longest prefix before a shorter one",
          "[train]") {
  const Given given{.updater = rate(1),
                    .updaters_of = {{"backbone/norm", rate(5)}, {"backbone/", rate(4)}},
                    .updater_groups = {{is_flat, rate(2)}}};
  CHECK(rates(given) == except({{"backbone/weight", "4"},
                                {"backbone/bias", "4"},
                                {"backbone/norm", "5"},
                                {"backbone/norm2", "5"},
                                {"head/bias", "2"}}));
  // A predicate with the updater that prefixes give already adds no line.
  const Given same{.updater = rate(1),
                   .updaters_of = {{"head/", rate(2)}},
                   .updater_groups = {{[](const VariableInfo& v) { return v.name == "head/bias"; }, rate(2)}}};
  CHECK(same.choose(network()).updaters_of.size() == 1);
}

TEST_CASE("choose_updaters: an updater of the model is for its name alone, and only that name replaces it", "[train]") {
  const ModelUpdaters of_model{{"backbone/norm", rate(9)}};
  CHECK(rates({.updater = rate(1)}, of_model) == except({{"backbone/norm", "9"}}));
  CHECK(rates({.updater = rate(1),
               .updaters_of = {{"backbone/", rate(4)}, {"backbone/nor", rate(5)}},
               .updater_groups = {{is_flat, rate(2)}}},
              of_model) == except({{"backbone/weight", "4"},
                                   {"backbone/bias", "4"},
                                   {"backbone/norm", "9"},
                                   {"backbone/norm2", "5"},
                                   {"head/bias", "2"}}));
  CHECK(rates({.updater = rate(1), .updaters_of = {{"backbone/norm", rate(5)}}}, of_model) ==
        except({{"backbone/norm", "5"}, {"backbone/norm2", "5"}}));
  CHECK(rates({.updater = rate(1)}, {{"user", rate(7)}, {"user", rate(8)}}) == except({{"user", "8"}}));
}

TEST_CASE("choose_updaters: a predicate sees tables as variables of shape [rows, dim], and no counters", "[train]") {
  std::map<std::string, std::string> seen;
  const auto look = [&seen](const VariableInfo& variable) {
    seen[variable.name] = to_string(variable.shape);
    return variable.name == "film";
  };
  CHECK(rates({.updater = rate(1), .updater_groups = {{look, rate(2)}}}) == except({{"film", "2"}}));
  CHECK(seen.size() == 8);
  CHECK(seen["user"] == "[0,8]");
  CHECK(seen["film"] == "[50,8]");
  CHECK(seen["head/weight"] == "[4,2]");
  CHECK_FALSE(seen.contains("seen"));
}

TEST_CASE("choose_updaters: what fits nothing is refused, with the names that there are", "[train]") {
  const auto never = [](const VariableInfo&) { return false; };
  CHECK_THAT(refusal({.updaters_of = {{"hed/", rate(2)}}}),
             ContainsSubstring("with_updater: 'hed/'; the job has backbone/weight, backbone/bias, "));
  CHECK_THAT(refusal({.updaters_of = {{"", rate(2)}}}), ContainsSubstring("with_updater: ''; the job has "));
  CHECK_THAT(refusal({.updater_groups = {{is_flat, rate(2)}, {never, rate(3)}}}),
             ContainsSubstring("with_updater: the predicate of 'sgd learning_rate=3'; the job has "));
  CHECK_THAT(refusal({}, {{"backbone/nor", rate(2)}}),
             ContainsSubstring("updaters() of the model: 'backbone/nor'; the job has "));
  CHECK_THAT(refusal({}, {{"seen", rate(2)}}), ContainsSubstring("updaters() of the model: 'seen'; the job has "));
  CHECK_THAT(refusal({}, {{"user", distrib::Adagrad{.initial_accumulator_value = 0}}}),
             ContainsSubstring("updaters() of the model: 'user': adagrad "));
  const auto throws = [](const VariableInfo&) -> bool { throw std::runtime_error{"no opinion"}; };
  CHECK_THROWS_WITH(refusal({.updater_groups = {{throws, rate(2)}}}), "no opinion");
}

TEST_CASE("choose_updaters: of many names the error has the likeliest", "[train]") {
  std::vector<VariableInfo> many;
  for (int i = 0; i < 100; ++i) many.push_back({"layer" + std::to_string(i) + "/w", DType::float32, {2}});
  const Given given{.updaters_of = {{"layer77/v", rate(2)}}};
  CHECK_THROWS_WITH(
      given.choose(RuntimeVariables{many}),
      ContainsSubstring("with_updater: 'layer77/v'; the job has layer77/w, ") && ContainsSubstring(" and others: "));
}

TEST_CASE("choose_updaters: more lines than a job may have are refused; the largest group needs none", "[train]") {
  std::vector<VariableInfo> many;
  for (int i = 0; i < 1001; ++i) {
    many.push_back({"layer" + std::to_string(1000 + i) + ".bias", DType::float32, {2}});
    many.push_back({"layer" + std::to_string(1000 + i) + ".weight", DType::float32, {2, 2}});
  }
  const auto lines = [](const std::vector<VariableInfo>& variables) {
    const Given given{.updater = rate(1), .updater_groups = {{is_flat, rate(2)}}};
    return given.choose(RuntimeVariables{variables}).updaters_of.size();
  };
  CHECK_THROWS_WITH(lines(many), ContainsSubstring("1001 prefixes and variables: at most 1000 variables can have "
                                                   "updaters of their own: give the largest group"));
  many.resize(2000);
  CHECK(lines(many) == 1000);
  const Given turned{.updater = rate(2),
                     .updater_groups = {{[](const VariableInfo& v) { return v.name == "layer1007.weight"; }, rate(1)}}};
  CHECK(turned.choose(RuntimeVariables{many}).updaters_of.size() == 1);
}

TEST_CASE("choose_updaters: a job without variables has nothing to choose from", "[train]") {
  const Given given{.updaters_of = {{"w", rate(2)}}};
  CHECK_THROWS_WITH(given.choose(RuntimeVariables{}), ContainsSubstring("with_updater: 'w'; the job has none: "));
}

TEST_CASE("choose_updaters: with a moving average every updater keeps it, that of the model too", "[train]") {
  TrainingOptions options;
  options.updater = rate(1);
  options.updaters_of = {{"head/", rate(2)}};
  options.updater_groups = {{[](const VariableInfo& v) { return v.name == "backbone/bias"; }, rate(3)}};
  options.moving_average = distrib::MovingAverage{.decay = 0.5F};
  const distrib::ChosenUpdaters chosen = choose_updaters(options, network(), {{"backbone/norm2", rate(4)}});
  const std::string average = "moving_average decay=0.5 ";
  CHECK(chosen.updaters_of == std::vector<UpdaterOf>{{"head/", average + rate(2).text()},
                                                     {"backbone/bias", average + rate(3).text()},
                                                     {"backbone/norm2", average + rate(4).text()}});
  REQUIRE(chosen.updaters.size() == 4);
  CHECK(chosen.updaters[0].text() == average + rate(1).text());
  for (std::size_t i = 0; i < 3; ++i) CHECK(chosen.updaters[i + 1].text() == chosen.updaters_of[i].updater);
  for (const AnyUpdater& updater : chosen.updaters) CHECK(updater.slots().back().name == "ExponentialMovingAverage");
}
