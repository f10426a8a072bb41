// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/contributor.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/evaluation.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/initial_values.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/model_updaters.hpp>
#include <distrib/train/own_batches.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/training_options.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

template <Model M, BatchSource Source> class OpenModelOf final : public OpenModel {
 public:
  /// `of_model`: the updaters that the model brings. `local_updater`: that of the local steps.
  OpenModelOf(const M& model, const ModelUpdaters& of_model, Source source, std::vector<FeedFn> feeds,
              typename Contributor<M, Source>::Evaluate validation, std::optional<AnyUpdater> local_updater)
      : model_{model},
        of_model_{of_model},
        source_{std::move(source)},
        feeds_{std::move(feeds)},
        validation_{std::move(validation)},
        local_updater_{std::move(local_updater)} {}

  [[nodiscard]] auto describe() const -> std::string override { return source_.describe(); }
  [[nodiscard]] auto batches() const -> std::optional<std::uint64_t> override { return source_.batches(); }
  [[nodiscard]] auto batch_size() const -> std::uint64_t override { return source_.batch_size(); }
  [[nodiscard]] auto is_replayable() const noexcept -> bool override {
    return !std::same_as<Source, OwnBatches::Source>;
  }
  [[nodiscard]] auto waits() const noexcept -> bool override { return WaitsForBatches<Source>; }
  [[nodiscard]] auto contributor(const Job& job, std::span<const ShardLayout> layouts) const
      -> std::unique_ptr<AnyContributor> override {
    return std::make_unique<Contributor<M, Source>>(model_, source_, job, layouts, of_model_, feeds_, validation_,
                                                    local_updater_);
  }

 private:
  const M& model_;
  const ModelUpdaters& of_model_;
  Source source_;
  std::vector<FeedFn> feeds_;
  typename Contributor<M, Source>::Evaluate validation_;
  std::optional<AnyUpdater> local_updater_;
};

/// What a model answers when it is asked for the first time. If the model throws, it is asked again the next time.
/// Threads: any. (Not `std::call_once`: after an exception it waits for ever on some platforms, and under the thread
/// sanitizer.)
template <class T> class Answer {
 public:
  template <class Ask> auto get(Ask&& ask) const -> const T& {
    const std::lock_guard lock{mutex_};
    if (!answer_) answer_ = ask();
    return *answer_;  // it never changes again
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<T> answer_;
};

/// The model and the data of a recipe. Together with `Contributor`, `Evaluation` and `make_initial_values` this is all
/// of a trainer's code that is compiled for each model.
template <Model M, Dataset D> class ModelOf final : public AnyModel {
 public:
  using OpenEvaluation = std::function<std::unique_ptr<AnyEvaluation>(const M&, const RuntimeVariables&)>;

  /// Empty: batches are not measured before they are trained on.
  using Validation =
      std::function<Metrics(const M&, const Batch<typename M::Example>&, const Values<typename M::Variables>&)>;

  ModelOf(M model, D data, OpenEvaluation evaluation, std::vector<FeedFn> feeds, Validation validation = {},
          const std::optional<LocalSteps>& local_steps = {})
      : model_{std::move(model)},
        data_{std::move(data)},
        evaluation_{std::move(evaluation)},
        feeds_{std::move(feeds)},
        validation_{std::move(validation)} {
    if (local_steps) local_updater_ = local_steps->updater;
  }

  [[nodiscard]] auto variables() const -> const RuntimeVariables& override {
    return variables_.get([this] { return checked(run_time_list(model_.variables())); });
  }
  [[nodiscard]] auto updaters() const -> const ModelUpdaters& override {
    if constexpr (BringsUpdaters<M>) return updaters_.get([this]() -> ModelUpdaters { return model_.updaters(); });
    else return updaters_.get([] { return ModelUpdaters{}; });
  }
  [[nodiscard]] auto arithmetic() const -> const std::string& override {
    if constexpr (DescribesArithmetic<M>) return arithmetic_.get([this]() -> std::string { return model_.describe(); });
    else return arithmetic_.get([] { return std::string{}; });
  }
  [[nodiscard]] auto initial_values(Job& job) const -> std::vector<SharedBuffer> override {
    return make_initial_values(model_, job);
  }
  [[nodiscard]] auto open() const -> std::unique_ptr<OpenModel> override {
    using Source = std::remove_cvref_t<decltype(data_.open())>;
    return std::make_unique<OpenModelOf<M, Source>>(model_, updaters(), data_.open(), feeds_, validation_,
                                                    local_updater_);
  }
  [[nodiscard]] auto open_evaluation() const -> std::unique_ptr<AnyEvaluation> override {
    return evaluation_ ? evaluation_(model_, variables()) : nullptr;
  }

 private:
  static auto checked(RuntimeVariables variables) -> RuntimeVariables {
    if (!HasLookups<M> && !variables.table_infos().empty())
      throw_error(train_errc::no_lookups, variables.table_infos().front().name);
    return variables;
  }

  M model_;
  D data_;
  OpenEvaluation evaluation_;  // empty if the recipe has no Evaluate
  std::vector<FeedFn> feeds_;
  Validation validation_;
  std::optional<AnyUpdater> local_updater_;  // empty without local steps
  Answer<RuntimeVariables> variables_;
  Answer<ModelUpdaters> updaters_;
  Answer<std::string> arithmetic_;
};

template <class M, class D, class Hooks>
[[nodiscard]] auto make_model(const Recipe<M, D, Hooks>& recipe) -> std::shared_ptr<const AnyModel> {
  typename ModelOf<M, D>::OpenEvaluation evaluation;
  find_evaluate(recipe.hooks, [&](const auto& setting) {
    evaluation = [data = setting.data](const M& model, const RuntimeVariables& variables) {
      using Source = std::remove_cvref_t<decltype(data.open())>;
      return std::unique_ptr<AnyEvaluation>{std::make_unique<Evaluation<M, Source>>(model, variables, data.open())};
    };
  });
  typename ModelOf<M, D>::Validation validation;
  if constexpr (validates<Hooks>)
    validation = [](const M& model, const Batch<typename M::Example>& batch,
                    const Values<typename M::Variables>& values) { return model.evaluate(batch, values); };
  return std::make_shared<ModelOf<M, D>>(recipe.model, recipe.data, std::move(evaluation), feeds_of(recipe.hooks),
                                         std::move(validation), recipe.options.local_steps);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
