// SPDX-License-Identifier: Apache-2.0
// Update rules.
#include "answers.hpp"

#include <distrib/optimizer.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace conformance {

namespace {

/// A variable under `updater`, its slots, and how often it was updated.
template <class U>
class Trained {
 public:
  Trained(U updater, std::vector<float> values) : updater_{std::move(updater)}, values_{std::move(values)} {
    for (std::size_t i = 0; i < U::slots.size(); ++i) slots_[i].assign(values_.size(), U::slots[i].initial);
  }

  void step(std::span<const float> gradient) {
    std::array<std::span<float>, U::slots.size()> blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = slots_[i];
    std::vector<float> next(values_.size());
    updater_.apply({++count_}, gradient, values_, next, blocks);
    values_ = std::move(next);
  }

  [[nodiscard]] auto values() const -> const std::vector<float>& { return values_; }
  [[nodiscard]] auto slot(std::size_t i) const -> const std::vector<float>& { return slots_[i]; }
  [[nodiscard]] auto count() const -> std::uint64_t { return count_; }

 private:
  U updater_;
  std::vector<float> values_;
  std::array<std::vector<float>, U::slots.size() + 1> slots_;
  std::uint64_t count_ = 0;
};

/// Updates `input`'s variable by `updater`; `slots` says how the original calls what is kept beside it.
template <class U, class Slots>
auto train(const Json& input, const U& updater, Slots slots) -> Json {
  Trained<U> variable{updater, input.at("var").get<std::vector<float>>()};
  const auto gradient = input.at("grad").get<std::vector<float>>();
  if (gradient.size() != variable.values().size()) throw Refused{"ValueError"};
  Json answer{{"var_after_each_step", Json::array()}, {"which_steps", Json::array()}};
  for (int step = 1; step <= input.at("steps").get<int>(); ++step) {
    variable.step(gradient);
    answer["var_after_each_step"].push_back(variable.values());
    answer["which_steps"].push_back(step);
  }
  answer["slots_at_end"] = slots(variable);
  return answer;
}

auto dense(const Json& input) -> Json {
  const auto name = input.at("optimizer").get<std::string>();
  const Json hyper = input.value("hyper", Json::object());
  const float rate = hyper.value("learning_rate", 0.001F);
  if (name.starts_with("GradientDescent"))
    return train(input, distrib::Sgd{.learning_rate = rate}, [](const auto&) { return Json::object(); });
  if (name.starts_with("Momentum")) {
    const distrib::Momentum momentum{.learning_rate = rate,
                                     .momentum = hyper.at("momentum").get<float>(),
                                     .use_nesterov = hyper.value("use_nesterov", false)};
    return train(input, momentum, [](const auto& variable) { return Json{{"momentum", variable.slot(0)}}; });
  }
  if (name.starts_with("Adam,") || name == "Adam") {
    const distrib::Adam defaults;
    const distrib::Adam adam{.learning_rate = rate,
                             .beta1 = hyper.value("beta1", defaults.beta1),
                             .beta2 = hyper.value("beta2", defaults.beta2),
                             .epsilon = hyper.value("epsilon", defaults.epsilon)};
    return train(input, adam, [&](const auto& variable) {
      return Json{{"m", variable.slot(0)},
                  {"v", variable.slot(1)},
                  {"beta1_power", adam.beta1_power(variable.count() + 1)},
                  {"beta2_power", adam.beta2_power(variable.count() + 1)}};
    });
  }
  throw Unsupported{};
}

}  // namespace

auto optimizer_groups() -> std::vector<Group> { return {{"optimizer_dense", dense, exception_of}}; }

}  // namespace conformance
