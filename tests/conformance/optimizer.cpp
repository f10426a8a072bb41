// SPDX-License-Identifier: Apache-2.0
// Update rules.
#include "answers.hpp"

#include <distrib/optimizer.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

namespace {

/// Rows of a variable, each of `dim` elements, with their slots, the updater, and how often they were updated.
class Trained {
 public:
  Trained(distrib::AnyUpdater updater, std::vector<std::vector<float>> rows)
      : updater_{std::move(updater)}, dim_{rows.empty() ? 0 : rows.front().size()} {
    for (std::vector<float>& row : rows) {
      if (row.size() != dim_) throw Refused{"ValueError"};
      for (const distrib::Slot& slot : updater_.slots()) row.insert(row.end(), dim_, slot.initial);
    }
    rows_ = std::move(rows);
  }

  /// Updates rows. Gradients of the same row are summed first; a number beyond the rows is refused.
  void step(std::span<const std::int64_t> numbers, const std::vector<std::vector<float>>& gradients) {
    if (numbers.size() != gradients.size()) throw Refused{"ValueError"};
    std::map<std::int64_t, std::vector<float>> sums;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= static_cast<std::int64_t>(rows_.size())) throw Refused{"INVALID_ARGUMENT"};
      if (gradients[i].size() != dim_) throw Refused{"ValueError"};
      const auto [sum, first] = sums.try_emplace(numbers[i], gradients[i]);
      for (std::size_t at = 0; !first && at < dim_; ++at) sum->second[at] += gradients[i][at];
    }
    if (updater_.updates_every_row())
      for (std::size_t row = 0; row < rows_.size(); ++row)
        sums.try_emplace(static_cast<std::int64_t>(row), std::vector<float>(dim_));
    std::vector<float*> rows;
    std::vector<float> all;
    for (const auto& [number, sum] : sums) {
      rows.push_back(rows_[static_cast<std::size_t>(number)].data());
      all.insert(all.end(), sum.begin(), sum.end());
    }
    updater_.apply_rows({++count_}, {.dim = dim_, .rows = rows, .gradients = all});
  }
  void step(const std::vector<float>& gradient) {
    const std::int64_t only = 0;
    step(std::span{&only, 1}, {gradient});
  }

  /// Returns the weights (`part` 0) or a slot (1 and above) of every row.
  [[nodiscard]] auto part(std::size_t part) const -> std::vector<std::vector<float>> {
    std::vector<std::vector<float>> parts;
    for (const auto& row : rows_) {
      const auto first = row.begin() + static_cast<std::ptrdiff_t>(part * dim_);
      parts.emplace_back(first, first + static_cast<std::ptrdiff_t>(dim_));
    }
    return parts;
  }
  [[nodiscard]] auto count() const -> std::uint64_t { return count_; }

 private:
  distrib::AnyUpdater updater_;
  std::size_t dim_;
  std::vector<std::vector<float>> rows_;
  std::uint64_t count_ = 0;
};

/// An updater, and the original's names for its slots, in the original's order.
struct NamedUpdater {
  distrib::AnyUpdater updater;
  std::vector<std::string> slots;
  float beta1 = -1.0F;  ///< For Adam and its relatives; below 0 for others.
  float beta2 = -1.0F;
};

template <class U>
auto checked(const U& updater) -> U {
  distrib::detail::check_updater(updater);
  return updater;
}

template <class A>
auto adam(const Json& hyper) -> A {
  A made;
  made.learning_rate = hyper.value("learning_rate", 0.001F);
  made.beta1 = hyper.value("beta1", made.beta1);
  made.beta2 = hyper.value("beta2", made.beta2);
  made.epsilon = hyper.value("epsilon", made.epsilon);
  return made;
}
template <class R>
auto rmsprop(const Json& hyper) -> R {
  R made;
  made.learning_rate = hyper.value("learning_rate", 0.001F);
  made.decay = hyper.value("decay", made.decay);
  made.momentum = hyper.value("momentum", made.momentum);
  made.epsilon = hyper.value("epsilon", made.epsilon);
  return made;
}

/// Returns the updater of a question; the name "Adam, large epsilon (...)" means Adam.
auto named_updater(const Json& input) -> NamedUpdater {
  std::string name = input.at("optimizer").get<std::string>();
  name = name.substr(0, name.find_first_of(", ("));
  const Json hyper = input.value("hyper", Json::object());
  const float rate = hyper.value("learning_rate", 0.001F);
  if (name == "GradientDescent") return {distrib::Sgd{.learning_rate = rate}, {}};
  if (name == "Momentum")
    return {distrib::Momentum{.learning_rate = rate,
                              .momentum = hyper.at("momentum").get<float>(),
                              .use_nesterov = hyper.value("use_nesterov", false)},
            {"momentum"}};
  if (name == "Adagrad") {
    distrib::Adagrad made{.learning_rate = rate};
    made.initial_accumulator_value = hyper.value("initial_accumulator_value", made.initial_accumulator_value);
    return {checked(made), {"accumulator"}};
  }
  const bool says_centered = input["optimizer"].get<std::string>().find("centered") != std::string::npos;
  if (name == "RMSProp" && hyper.value("centered", says_centered))
    return {rmsprop<distrib::CenteredRMSProp>(hyper), {"rms", "mg", "momentum"}};
  if (name == "RMSProp") return {rmsprop<distrib::RMSProp>(hyper), {"rms", "momentum"}};
  if (name == "Ftrl") {
    distrib::Ftrl made{.learning_rate = rate};
    made.learning_rate_power = hyper.value("learning_rate_power", made.learning_rate_power);
    made.initial_accumulator_value = hyper.value("initial_accumulator_value", made.initial_accumulator_value);
    made.l1 = hyper.value("l1_regularization_strength", hyper.value("l1", made.l1));
    made.l2 = hyper.value("l2_regularization_strength", hyper.value("l2", made.l2));
    made.l2_shrinkage =
        hyper.value("l2_shrinkage_regularization_strength", hyper.value("l2_shrinkage", made.l2_shrinkage));
    return {checked(made), {"accum", "linear"}};
  }
  const auto with_powers = [](auto made, std::vector<std::string> slots) {
    return NamedUpdater{made, std::move(slots), made.beta1, made.beta2};
  };
  if (name == "Adam") return with_powers(adam<distrib::Adam>(hyper), {"m", "v"});
  if (name == "LazyAdam") return with_powers(adam<distrib::LazyAdam>(hyper), {"m", "v"});
  if (name == "AMSGrad") return with_powers(adam<distrib::AMSGrad>(hyper), {"m", "v", "vhat"});
  throw Unsupported{};
}

auto slots_of(const NamedUpdater& named, const Trained& trained, bool dense) -> Json {
  Json slots = Json::object();
  for (std::size_t i = 0; i < named.slots.size(); ++i) {
    const auto rows = trained.part(i + 1);
    if (dense) slots[named.slots[i]] = rows.front();
    else slots[named.slots[i]] = rows;
  }
  if (named.beta1 >= 0) {
    slots["beta1_power"] = distrib::Adam{.beta1 = named.beta1}.beta1_power(trained.count() + 1);
    slots["beta2_power"] = distrib::Adam{.beta2 = named.beta2}.beta2_power(trained.count() + 1);
  }
  return slots;
}

auto dense(const Json& input) -> Json {
  const NamedUpdater optimizer = named_updater(input);
  Trained variable{optimizer.updater, {input.at("var").get<std::vector<float>>()}};
  const auto gradient = input.at("grad").get<std::vector<float>>();
  Json answer{{"var_after_each_step", Json::array()}, {"which_steps", Json::array()}};
  for (int step = 1; step <= input.at("steps").get<int>(); ++step) {
    variable.step(gradient);
    answer["var_after_each_step"].push_back(variable.part(0).front());
    answer["which_steps"].push_back(step);
  }
  answer["slots_at_end"] = slots_of(optimizer, variable, true);
  return answer;
}

/// Returns rows of one number each, or of several numbers; the first row decides.
auto rows_of(const Json& list) -> std::vector<std::vector<float>> {
  std::vector<std::vector<float>> rows;
  for (const Json& row : list)
    rows.push_back(row.is_array() ? row.get<std::vector<float>>() : std::vector{row.get<float>()});
  return rows;
}

auto sparse(const Json& input) -> Json {
  const NamedUpdater optimizer = named_updater(input);
  const Json& first = input.at("var_rows");
  Trained variable{optimizer.updater, rows_of(first)};
  const bool scalars = !first.empty() && !first.front().is_array();
  const auto shown = [scalars](const std::vector<std::vector<float>>& rows) {
    Json list = Json::array();
    for (const auto& row : rows)
      if (scalars) list.push_back(row.front());
      else list.push_back(row);
    return list;
  };
  Json answer{{"var_after_each_step", Json::array()}};
  for (const Json& step : input.at("steps")) {
    variable.step(step.at("indices").get<std::vector<std::int64_t>>(), rows_of(step.at("values")));
    answer["var_after_each_step"].push_back(shown(variable.part(0)));
  }
  Json slots = Json::object();
  for (std::size_t i = 0; i < optimizer.slots.size(); ++i) slots[optimizer.slots[i]] = shown(variable.part(i + 1));
  answer["slots_at_end"] = std::move(slots);
  return answer;
}

}  // namespace

auto optimizer_groups() -> std::vector<Group> {
  return {{"optimizer_dense", dense, exception_of}, {"optimizer_sparse", sparse, exception_of}};
}

}  // namespace conformance
