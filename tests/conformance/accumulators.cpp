// SPDX-License-Identifier: Apache-2.0
// Accumulators, and SyncReplicas, the optimizer that uses them.
#include "answers.hpp"

#include <distrib/optimizer.hpp>
#include <distrib/tf/conditional_accumulator.hpp>
#include <distrib/tf/sparse_conditional_accumulator.hpp>
#include <distrib/tf/sync_replicas.hpp>
#include <distrib/tf/sync_replicas_plan.hpp>

#include <cstdint>
#include <optional>

namespace conformance {

namespace {

auto accumulate(const Json& input) -> Json {
  distrib::ConditionalAccumulator accumulator;
  Json answer{{"taken", Json::array()}};
  int number = 0;
  const auto out = [&](const distrib::GradientTaken& taken) {
    answer["taken"].push_back(std::vector(taken.values.begin(), taken.values.end()));
    answer["completed_by_event_number_counting_from_1"] = number;
  };
  for (const Json& event : input.at("events")) {
    ++number;
    const auto what = event.at(0).get<std::string>();
    if (what == "apply")
      accumulator.apply(event.at(1).get<distrib::Step>(), event.at(2).get<std::vector<float>>(), out);
    else if (what == "take") accumulator.take(0, event.at(1).get<std::int64_t>(), out);
    else if (what == "set_global_step") accumulator.set_global_step(event.at(1).get<distrib::Step>());
    else throw Unsupported{};
  }
  answer["global_step_after"] = accumulator.global_step();
  answer["count_after"] = accumulator.count();
  answer["dropped"] = accumulator.dropped();
  return answer;
}

/// Workers that train one number with SyncReplicas and gradient descent.
class Workers {
 public:
  explicit Workers(const Json& input)
      : sgd_{.learning_rate = input.at("learning_rate").get<float>()},
        value_{input.at("v0").get<float>()},
        gradients_(input.at("grads").get<std::vector<float>>()),
        sync_{plan(input)} {
    if (gradients_.size() != count()) throw Refused{"ValueError"};
    sync_.set_variables({1}, 0);
    sync_.begin(input.contains("init_tokens") ? std::optional{input["init_tokens"].get<std::int64_t>()} : std::nullopt);
  }

  /// Computes, contributes and waits at the barrier. Returns false if its gradient was stale.
  auto step(std::size_t worker) -> bool {
    const auto rank = static_cast<distrib::Rank>(worker);
    const std::span<const float> gradients[] = {std::span{gradients_}.subspan(worker, 1)};
    auto out = [this](const auto& action) { act(action); };
    const bool counts = sync_.apply(rank, gradients, out);
    sync_.take_token(rank, out);
    return counts;
  }

  auto round() -> Json {
    for (std::size_t worker = 0; worker < count(); ++worker) step(worker);
    Json state = values();
    for (std::size_t worker = 0; worker < count(); ++worker)
      state["local_steps"].push_back(sync_.local_step(static_cast<distrib::Rank>(worker)));
    return state;
  }

  [[nodiscard]] auto values() const -> Json { return {{"global_step", sync_.global_step()}, {"v0", value_}}; }
  [[nodiscard]] auto count() const -> std::size_t { return gradients_.size(); }

 private:
  static auto plan(const Json& input) -> distrib::SyncReplicasPlan {
    return {input.at("replicas_to_aggregate").get<std::int64_t>(), input.at("num_workers").get<std::int64_t>()};
  }

  void act(const distrib::ApplyUpdate& update) {
    const std::vector<float> before{value_};
    sgd_.apply({update.step}, update.gradients[0], before, std::span{&value_, 1}, {});
  }
  void act(const distrib::TokenGiven&) {}

  distrib::Sgd sgd_;
  float value_;
  std::vector<float> gradients_;
  distrib::SyncReplicas sync_;
};

/// As in TensorFlow's own test: worker 0 and the last workers are first, so the workers from 1 on are too late.
auto with_backups(Workers& workers, std::size_t first) -> Json {
  const std::size_t late = workers.count() - first;
  workers.step(0);
  for (std::size_t worker = late + 1; worker < workers.count(); ++worker) workers.step(worker);
  Json answer{{"after_first_two", workers.values()}};
  for (std::size_t worker = 1; worker <= late; ++worker)
    answer["late_worker_" + std::to_string(worker)] = workers.step(worker) ? "counted" : "dropped as stale";
  return answer;
}

auto train(const Json& input) -> Json {
  Workers workers{input};
  const auto aggregate = input.at("replicas_to_aggregate").get<std::size_t>();
  if (aggregate < workers.count()) return with_backups(workers, aggregate);
  Json answer;
  for (const char* const name : {"after_first_round", "after_second_round", "after_third_round"})
    answer[name] = workers.round();
  return answer;
}

auto tokens(const Json& cases) -> Json {
  Json answer;
  for (const Json& numbers : cases) {
    const distrib::SyncReplicasPlan plan{numbers.at(0).get<std::int64_t>(), numbers.at(1).get<std::int64_t>()};
    answer["tokens_per_step"].push_back(plan.tokens_per_step());
    answer["default_init_tokens"].push_back(plan.initial_tokens());
    answer["minimum_init_tokens"].push_back(plan.minimum_initial_tokens());
  }
  return answer;
}

auto sync_replicas(const Json& input) -> Json {
  if (input.contains("cases")) return tokens(input["cases"]);
  if (input.contains("num_workers")) return train(input);
  distrib::SyncReplicasPlan plan{input.value("replicas_to_aggregate", std::int64_t{1}), {}};
  if (input.contains("total_num_replicas") && !input["total_num_replicas"].is_null())
    plan.total_num_replicas = input["total_num_replicas"].get<std::int64_t>();
  distrib::SyncReplicas sync{plan};
  if (input.contains("call")) sync.begin();  // the variables are not known yet
  if (input.contains("global_step") || input.contains("grads_and_vars")) {
    const std::size_t variables = input.contains("grads_and_vars") ? input["grads_and_vars"].size() : 1;
    std::optional<distrib::Step> global_step = 0;
    if (input.contains("global_step") && input["global_step"].is_null()) global_step.reset();
    sync.set_variables(std::vector<std::size_t>(variables, 1), global_step);
  }
  Json answer{{"total_num_replicas", plan.workers()}, {"tokens_per_step", plan.tokens_per_step()}};
  const std::int64_t num_tokens = input.value("num_tokens", std::int64_t{-1});  // -1: the default number
  answer["init_tokens"] = plan.initial_tokens(num_tokens == -1 ? std::nullopt : std::optional{num_tokens});
  return answer;
}

}  // namespace

auto accumulator_groups() -> std::vector<Group> {
  return {{"accumulator", accumulate}, {"sync_replicas", sync_replicas, exception_of}};
}

}  // namespace conformance
