// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/placement/strategy.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/cluster_trainer.hpp>
#include <distrib/train/detail/model_of.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/hook_set.hpp>
#include <distrib/train/initial_checkpoint_options.hpp>
#include <distrib/train/local_mode.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/trainer.hpp>
#include <distrib/train/training_options.hpp>
#include <distrib/train/training_plan.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {
struct NoData {};

/// Returned where a sentence of ours was the answer; takes whatever follows, so that nothing else is reported.
struct NoTrainer {
  constexpr auto with_data(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_placement(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_partitioner(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_consistency(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_updater(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_hooks(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_seed(auto&&...) const -> NoTrainer { return {}; }
  auto with_initial_checkpoint(const std::string&, const InitialCheckpointOptions& = {}) const -> NoTrainer {
    return {};
  }
  constexpr auto with_check_numerics(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_row_mean(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_wire_format(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_local_mode(const LocalMode&) const -> NoTrainer { return {}; }  // which may be just braces
  constexpr auto with_cluster_mode(const ClusterMode&) const -> NoTrainer { return {}; }
  constexpr auto with_replicas(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto build(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto plan() const -> NoTrainer { return {}; }
  constexpr auto run() const -> int { return 0; }
  auto result() const -> TrainingResult { return {}; }
};

template <class M>
concept HasVariables = is_variable_list<typename M::Variables>;
template <class M>
concept HasExample = requires { typename M::Example; };
template <class M>
concept HasVariablesFunction = requires(const M& model) {
  { model.variables() } -> std::same_as<typename M::Variables>;
};
template <class M>
concept HasGradients =
    requires(const M& model, const Batch<typename M::Example>& batch, const Values<typename M::Variables>& values,
             Gradients<typename M::Variables>& gradients, StepContext context) {
      { model.gradients(batch, values, gradients, context) } -> std::convertible_to<float>;
    };
template <class D, class M>
inline constexpr bool data_of_model = std::same_as<typename D::ExampleType, typename M::Example>;
}  // namespace detail

/// Puts a trainer together, one role at a time; `with_...` in any order, a default for each but the data. Every call
/// gives a new builder; the last of two calls for one role counts, hooks add up (each setting once). A value.
template <class R>
class TrainerBuilder {
 public:
  explicit TrainerBuilder(R recipe) : recipe_{std::move(recipe)} {}

  /// Where examples come from: `tfrecords(...).schema(...).batch(n)`.
  template <Dataset D>
  [[nodiscard]] auto with_data(D data) const {
    constexpr bool fits = detail::data_of_model<D, typename R::ModelType>;
    static_assert(fits, "distrib: with_data: the schema of the data fills another type than the model's Example");
    if constexpr (fits) return copied(recipe_.with_data(std::move(data)));
    else return detail::NoTrainer{};
  }
  template <class D>
  auto with_data(D) const -> detail::NoTrainer {
    detail::explain_dataset<D>();
    return {};
  }

  /// Which parameter server task each part of a variable goes to. Default: round robin.
  template <PlacementStrategy P>
  [[nodiscard]] auto with_placement(P placement) const -> TrainerBuilder {
    return with(&TrainingOptions::placement, detail::AnyPlacement::of(std::move(placement)));
  }
  template <class P>
  auto with_placement(P) const -> detail::NoTrainer {
    detail::explain_placement_strategy<P>();
    return {};
  }

  /// How variables are cut into parts. Default: not at all.
  template <Partitioner P>
  [[nodiscard]] auto with_partitioner(P partitioner) const -> TrainerBuilder {
    return with(&TrainingOptions::partitioner, detail::AnyPartitioner::of(std::move(partitioner)));
  }
  template <class P>
  auto with_partitioner(P) const -> detail::NoTrainer {
    detail::explain_partitioner<P>();
    return {};
  }

  /// When contributions count: `BulkSynchronousParallel` (the default), `StaleSynchronousParallel` or
  /// `AsynchronousParallel`, or a `Consistency` that holds one of them.
  template <std::convertible_to<Consistency> C>
  [[nodiscard]] auto with_consistency(C consistency) const -> TrainerBuilder {
    return with(&TrainingOptions::consistency, consistency);
  }
  template <class C>
  auto with_consistency(C) const -> detail::NoTrainer {
    constexpr bool fits = std::convertible_to<C, Consistency>;
    static_assert(fits,
                  "distrib: with_consistency takes BulkSynchronousParallel, StaleSynchronousParallel or "
                  "AsynchronousParallel; there is no other consistency");
    return {};
  }

  /// How gradients change variables. Default: `Sgd`. Throws `optimizer_errc` when it cannot be trained with.
  template <Updater U>
  [[nodiscard]] auto with_updater(U updater) const -> TrainerBuilder {
    detail::check_updater(updater);
    return with(&TrainingOptions::updater, std::move(updater));
  }
  template <class U>
  auto with_updater(U) const -> detail::NoTrainer {
    detail::explain_updater<U>();
    return {};
  }

  /// The same for variables whose names begin with `prefix`: "wide/", or a whole name. The longest prefix counts, of two
  /// calls with the same one the last. Throws as above; `build` throws `train_errc::no_such_variable` when no name
  /// begins so.
  template <Updater U>
  [[nodiscard]] auto with_updater(std::string_view prefix, U updater) const -> TrainerBuilder {
    detail::check_updater(updater);
    TrainerBuilder next = *this;
    auto& of = next.recipe_.options.updaters_of;
    std::erase_if(of, [&](const auto& other) { return other.first == prefix; });
    of.emplace_back(std::string{prefix}, std::move(updater));
    return next;
  }
  template <class U>
  auto with_updater(std::string_view, U) const -> detail::NoTrainer {
    detail::explain_updater<U>();
    return {};
  }

  /// What runs beside the training, and its settings: `StopAtStep`, `SaveCheckpoint`, `Evaluate`, `WriteSummaries`,
  /// `ShowProgress`, or a `Hook` of one's own.
  template <class... Hs>
    requires(Hook<Hs> && ...)
  [[nodiscard]] auto with_hooks(Hs... hooks) const {
    return copied(recipe_.with_hooks(std::move(hooks)...));
  }
  template <class... Hs>
  auto with_hooks(Hs...) const -> detail::NoTrainer {
    constexpr bool fit = (Hook<Hs> && ...);
    static_assert(fit,
                  "distrib: with_hooks: a Hook needs on_start(const JobStart&), on_step(const StepDone&), "
                  "on_saved(const CheckpointSaved&), on_evaluated(const Evaluated&), on_event(const Event&) or "
                  "on_end(const JobEnd&)");
    return {};
  }

  /// Seeds initial values and everything random of the model. Default: 0.
  [[nodiscard]] auto with_seed(std::uint64_t seed) const -> TrainerBuilder {
    return with(&TrainingOptions::seed, seed);
  }

  /// The checkpoint, "dir/model.ckpt-100", whose values variables and tables begin with, found by their names: one of
  /// TensorFlow or of this library, of tables of any keys the latter. Slots, counters and steps begin as in any new job. As
  /// TensorFlow's `warm_start` and `init_from_checkpoint`.
  ///
  /// What the checkpoint lacks is refused before training (`ps_errc::not_in_checkpoint`), and named, with the nearest names
  /// that there are: `options.names` says which of them is meant, or what is not to be taken from there, and
  /// `options.allow_missing` lets what is not there begin as its initializer says. What is damaged, or of another type or
  /// shape, is refused too. `build` throws `train_errc::no_such_variable` when nothing has a name that an entry is for, and
  /// `train_errc::bad_initial_name`.
  ///
  /// In a cluster all parameter servers read it, also when everybody goes back to the beginning, so it must stay. It is
  /// part of the job's identity, by its absolute path and by the names; `allow_missing` is not.
  [[nodiscard]] auto with_initial_checkpoint(std::string prefix, InitialCheckpointOptions options = {}) const
      -> TrainerBuilder {
    return with(&TrainingOptions::initial_checkpoint, std::move(prefix))
        .with(&TrainingOptions::initial_checkpoint_options, std::move(options));
  }

  /// Whether a gradient that is NaN or infinite ends the job with `ps_errc::not_finite`, at every worker, naming step,
  /// rank and variable; nothing was changed by it. As tf.debugging.enable_check_numerics. Default: not.
  [[nodiscard]] auto with_check_numerics(bool check = true) const -> TrainerBuilder {
    return with(&TrainingOptions::check_numerics, check);
  }

  /// What gradients of one key of a table are divided by. Default: by how many contributions of the step had the key.
  [[nodiscard]] auto with_row_mean(RowMean mean) const -> TrainerBuilder {
    return with(&TrainingOptions::row_mean, mean);
  }

  /// As what values and gradients travel: `FloatFormat::bfloat16` and `FloatFormat::float16` take half of the bytes. What
  /// a model sees are rounded values, and what an updater sees is the mean of rounded gradients, in a job of one process,
  /// too; so are the dense variables in `TrainingResult::parameters_sha256`. Parameter servers keep float32, and
  /// checkpoints are of that. Default: float32.
  [[nodiscard]] auto with_wire_format(FloatFormat format) const -> TrainerBuilder {
    return with(&TrainingOptions::wire_format, format);
  }

  /// How many workers and shards a job in one process has. Default: one of each.
  [[nodiscard]] auto with_local_mode(LocalMode local) const -> TrainerBuilder {
    return with(&TrainingOptions::local, local);
  }

  /// How a job of several processes behaves.
  [[nodiscard]] auto with_cluster_mode(ClusterMode cluster) const -> TrainerBuilder {
    return with(&TrainingOptions::cluster, std::move(cluster));
  }

  /// How many replicas a cluster keeps of each shard, on different parameter servers: with 2 training goes on without a
  /// pause when a server dies, and loses nothing when its disk is lost, at twice the traffic and memory. Synchronous jobs
  /// that count every rank only, with 2 servers or more: else `run` throws `train_errc::no_replicas`. A job in one process
  /// has none. Default: 1.
  [[nodiscard]] auto with_replicas(std::uint32_t replicas) const -> TrainerBuilder {
    return with(&TrainingOptions::replicas, replicas);
  }

  /// The trainer, all on the thread that calls `run()`.
  [[nodiscard]] auto build() const { return make<Trainer>(); }

  /// The trainer, with contributions made on the threads of `pool`, which must outlive it and not be stopped while it
  /// runs.
  [[nodiscard]] auto build(IoPool& pool) const { return make<Trainer>(&pool); }

  /// The trainer in the role that the flags give: one binary plays all of them. Without a job name it is as the one
  /// above.
  [[nodiscard]] auto build(IoPool& pool, const ClusterFlags& flags) const { return make<ClusterTrainer>(pool, flags); }

  /// The plan that the trainers hold: all of this without the user's types. `sim::run` takes a plan, too.
  [[nodiscard]] auto plan() const {
    constexpr bool has_data = !std::same_as<typename R::DataType, detail::NoData>;
    constexpr bool measurable = detail::EvaluatedModel<typename R::ModelType> || !detail::evaluates<decltype(R::hooks)>;
    static_assert(has_data,
                  "distrib: build: the trainer has no data; call with_data(tfrecords(...).schema(...).batch(n))");
    constexpr bool once = detail::each_setting_once<decltype(R::hooks)>;
    static_assert(once, "distrib: build: StopAtStep, SaveCheckpoint and Evaluate may each be given once only");
    static_assert(measurable,
                  "distrib: Evaluate{} asks for evaluate(const Batch<Example>&, const Values<Variables>&) const of the "
                  "model, which returns Metrics");
    if constexpr (has_data && measurable)
      return TrainingPlan{recipe_.options, detail::make_model(recipe_), HookSet{recipe_.hooks},
                          detail::settings_of(recipe_.hooks)};
    else return detail::NoTrainer{};
  }

 private:
  template <class Next> static auto copied(Next recipe) -> TrainerBuilder<Next> {
    return TrainerBuilder<Next>{std::move(recipe)};
  }
  template <class T> auto with(T TrainingOptions::* option, std::type_identity_t<T> value) const -> TrainerBuilder {
    return copied(recipe_.with(option, std::move(value)));
  }

  template <class TrainerType, class... Args>
  auto make(Args&&... args) const {
    auto made = plan();
    if constexpr (std::same_as<decltype(made), TrainingPlan>)
      return TrainerType{std::move(made), std::forward<Args>(args)...};
    else return made;
  }

  R recipe_;
};

/// Begins a trainer for a model: `train(Mlp{}).with_data(...).with_updater(...).build(pool, flags)`.
template <Model M>
[[nodiscard]] auto train(M model) {
  using Start = Recipe<M, detail::NoData, std::tuple<>>;
  return TrainerBuilder<Start>{Start{std::move(model), {}, {}}};
}

// The speaking twin: one sentence for each thing that the model lacks.
template <class M>
auto train(M) -> detail::NoTrainer {
  constexpr bool variables = detail::HasVariables<M>;
  constexpr bool example = detail::HasExample<M>;
  static_assert(variables, "distrib: a model needs: using Variables = distrib::VariableList<...>");
  static_assert(example, "distrib: a model needs a type Example: one record of its data");
  if constexpr (variables && example) {
    constexpr bool lists = detail::HasVariablesFunction<M>;
    constexpr bool learns = detail::HasGradients<M>;
    constexpr bool looks_up = detail::LooksUp<M>;
    static_assert(looks_up,
                  "distrib: a model with an Embedding needs: void lookups(const distrib::Batch<Example>&, "
                  "distrib::Lookups<Variables>&) const");
    static_assert(lists, "distrib: a model needs: auto variables() const -> Variables");
    static_assert(learns,
                  "distrib: a model needs: auto gradients(const distrib::Batch<Example>&, const "
                  "distrib::Values<Variables>&, distrib::Gradients<Variables>&, distrib::StepContext) const -> float");
  }
  return {};
}

}  // namespace v0
}  // namespace distrib
