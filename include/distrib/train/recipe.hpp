// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/evaluate.hpp>
#include <distrib/train/export_model.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/global_step_waiter.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/progressive_validation.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>
#include <distrib/train/training_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Everything that defines a training. `train(model)` makes the first recipe; each `with_` of `TrainerBuilder` copies
/// it with one role replaced. A value.
template <class M, class Data, class Hooks> struct Recipe {
  using ModelType = M;
  using DataType = Data;

  M model;
  Data data;
  Hooks hooks;  ///< A std::tuple.
  TrainingOptions options = {};

  /// Returns a copy with other data.
  template <class Other> [[nodiscard]] auto with_data(Other other) const -> Recipe<M, Other, Hooks> {
    return {model, std::move(other), hooks, options};
  }
  /// Returns a copy with these hooks added.
  template <class... Hs> [[nodiscard]] auto with_hooks(Hs... more) const {
    auto all = std::tuple_cat(hooks, std::tuple<Hs...>{std::move(more)...});
    return Recipe<M, Data, decltype(all)>{model, data, std::move(all), options};
  }
  /// Returns a copy with another value of one option: `with(&TrainingOptions::seed, 7)`.
  template <class T>
  [[nodiscard]] auto with(T TrainingOptions::* option, std::type_identity_t<T> value) const -> Recipe {
    Recipe next = *this;
    next.options.*option = std::move(value);
    return next;
  }
};

/// The settings among the hooks of a recipe.
struct HookSettings {
  std::optional<StopAtStep> stop;
  std::optional<SaveCheckpoint> save;
  std::optional<ExportModel> exports;
  GlobalStepWaiter wait;
  bool asks_for_checkpoints = false;  ///< A hook has `wants_checkpoint`.
  /// Interval between measurements, in steps. 0: the model is measured only at the end, or, without `Evaluate`, never.
  std::uint64_t evaluate_every = 0;
  bool by_evaluator = false;  ///< See `Evaluate::by_evaluator`.
  bool evaluate_averages = false;  ///< True if `Evaluate` measures the moving averages.
  std::uint64_t validate_every = 0;  ///< See `ProgressiveValidation`. 0: there is none.
  std::vector<std::string> written;  ///< Directories in which hooks write files.
  std::vector<std::string> kept;  ///< Directories to which hooks copy or link checkpoints.
};

namespace detail {

/// Calls `found` with the first hook of type `H`, if there is one.
template <class H, class Hooks, class F> void find_hook(const Hooks& hooks, F&& found) {
  bool first = true;
  const auto look = [&](const auto& hook) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(hook)>, H>)
      if (std::exchange(first, false)) found(hook);
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
}

/// Calls `found` with each hook that is an `Evaluate`, for any type of data.
template <class Hooks, class F> void find_evaluate(const Hooks& hooks, F&& found) {
  const auto look = [&](const auto& hook) {
    if constexpr (is_evaluate<std::remove_cvref_t<decltype(hook)>>) found(hook);
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
}

/// Returns the directories in which hooks write files.
template <class Hooks> auto written_directories(const Hooks& hooks) -> std::vector<std::string> {
  std::vector<std::string> found;
  const auto look = [&](const auto& hook) {
    if constexpr (writes_files<std::remove_cvref_t<decltype(hook)>>) found.push_back(hook.written_directory());
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
  return found;
}

/// Returns the directories to which hooks copy or link checkpoints.
template <class Hooks> auto kept_directories(const Hooks& hooks) -> std::vector<std::string> {
  std::vector<std::string> found;
  const auto look = [&](const auto& hook) {
    if constexpr (keeps_checkpoints<std::remove_cvref_t<decltype(hook)>>) found.push_back(hook.kept_directory());
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
  return found;
}

/// Returns the FeedFn hooks.
template <class Hooks> auto feeds_of(const Hooks& hooks) -> std::vector<FeedFn> {
  std::vector<FeedFn> found;
  const auto look = [&](const auto& hook) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(hook)>, FeedFn>) found.push_back(hook);
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
  return found;
}

template <class Hooks> inline constexpr bool any_asks_for_checkpoints = false;
template <class... Hs>
inline constexpr bool any_asks_for_checkpoints<std::tuple<Hs...>> = (asks_for_checkpoints<Hs> || ...);

template <class Hooks> auto settings_of(const Hooks& hooks) -> HookSettings {
  HookSettings settings;
  find_hook<StopAtStep>(hooks, [&](const StopAtStep& stop) { settings.stop = stop; });
  find_hook<SaveCheckpoint>(hooks, [&](const SaveCheckpoint& save) { settings.save = save; });
  find_hook<ExportModel>(hooks, [&](const ExportModel& exports) {
    if (!exports.to.empty()) settings.exports = exports;
  });
  find_hook<GlobalStepWaiter>(hooks, [&](const GlobalStepWaiter& wait) { settings.wait = wait; });
  settings.asks_for_checkpoints = any_asks_for_checkpoints<Hooks>;
  find_evaluate(hooks, [&](const auto& evaluate) {
    settings.evaluate_every = evaluate.every_steps;
    settings.by_evaluator = evaluate.by_evaluator;
    settings.evaluate_averages = evaluate.averages;
  });
  find_hook<ProgressiveValidation>(hooks, [&](const ProgressiveValidation& validation) {
    settings.validate_every = validation.every_steps == 0 ? 1 : validation.every_steps;
  });
  settings.written = written_directories(hooks);
  settings.kept = kept_directories(hooks);
  return settings;
}

/// True if no setting occurs twice.
template <class Hooks> inline constexpr bool each_setting_once = false;
template <class... Hs>
inline constexpr bool each_setting_once<std::tuple<Hs...>> =
    (std::is_same_v<Hs, StopAtStep> + ... + 0) <= 1 && (std::is_same_v<Hs, SaveCheckpoint> + ... + 0) <= 1 &&
    (std::is_same_v<Hs, ExportModel> + ... + 0) <= 1 && (std::is_same_v<Hs, GlobalStepWaiter> + ... + 0) <= 1 &&
    (is_evaluate<Hs> + ... + 0) <= 1 && (std::is_same_v<Hs, ProgressiveValidation> + ... + 0) <= 1;

template <class Hooks> inline constexpr bool validates = false;
template <class... Hs>
inline constexpr bool validates<std::tuple<Hs...>> = (std::is_same_v<Hs, ProgressiveValidation> || ...);

template <class Hooks> inline constexpr bool evaluates = false;
template <class... Hs> inline constexpr bool evaluates<std::tuple<Hs...>> =
    (is_evaluate<Hs> || ...) || validates<std::tuple<Hs...>>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib
