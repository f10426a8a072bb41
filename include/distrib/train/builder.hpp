// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/optimizer/moving_average.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/placement/strategy.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/wire_format.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/cluster_trainer.hpp>
#include <distrib/train/detail/model_of.hpp>
#include <distrib/train/detail/session_model.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/hook_set.hpp>
#include <distrib/train/initial_checkpoint_options.hpp>
#include <distrib/train/local_mode.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/own_batches.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/session_loop.hpp>
#include <distrib/train/session_options.hpp>
#include <distrib/train/trainer.hpp>
#include <distrib/train/training_options.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_session.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {
struct NoData {};

/// Returned after a static_assert of this library has failed. Accepts every further call, so that the compiler reports
/// nothing else.
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
  constexpr auto with_moving_average(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_gradient_accumulation(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_local_steps(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_gradient_clipping(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_check_numerics(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_reduction(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_row_mean(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_wire_format(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_local_mode(const LocalMode&) const -> NoTrainer { return {}; }  // by type: accepts plain braces
  constexpr auto with_cluster_mode(const ClusterMode&) const -> NoTrainer { return {}; }
  constexpr auto with_replicas(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto with_object_stores(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto build(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto open(auto&&...) const -> NoTrainer { return {}; }
  constexpr auto plan() const -> NoTrainer { return {}; }
  constexpr auto should_stop() const -> bool { return true; }
  constexpr auto run(auto&&...) const -> int { return 0; }
  constexpr auto close() const -> int { return 0; }
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
/// A type that is no prefix of names: an argument of `with_updater` that must be a predicate.
template <class P>
concept NoPrefix = !std::convertible_to<P, std::string_view>;
template <class P>
concept GroupPredicate = NoPrefix<P> && std::copy_constructible<P> && std::predicate<const P&, const VariableInfo&>;
template <class D, class M>
inline constexpr bool data_of_model = std::same_as<typename D::ExampleType, typename M::Example>;
template <class M> inline constexpr bool data_of_model<OwnBatches, SessionModel<M>> = true;
/// True if the lookups of a model would have no batch to look at.
template <class D, class M>
inline constexpr bool looks_up_own =
    std::same_as<D, OwnBatches> && (has_known_tables<typename M::Variables> || HasLookups<M>);
}  // namespace detail

/// Builds a trainer, one role at a time. The `with_` functions may be called in any order. Each role has a default,
/// except the data.
///
/// Each call returns a new builder with one role changed. If a role is set twice, the last call counts. Hooks
/// accumulate, but each setting among them may occur only once. A value.
template <class R>
class TrainerBuilder {
 public:
  /// For `train`, which starts the chain: the program calls `train(model)`.
  explicit TrainerBuilder(R recipe) : recipe_{std::move(recipe)} {}

  /// Sets the source of the examples: `tfrecords(...).schema(...).batch(n)`.
  /// In a session the loop may bring its own batches: `OwnBatches{}`.
  template <Dataset D>
  [[nodiscard]] auto with_data(D data) const {
    constexpr bool is_own = std::same_as<D, OwnBatches>;
    constexpr bool fits = detail::data_of_model<D, typename R::ModelType>;
    static_assert(fits || is_own,
                  "distrib: with_data: the schema of the data is for another type than the model's Example");
    static_assert(
        fits || !is_own,
        "distrib: with_data: only a session can use OwnBatches, because its loop brings the batches; start with "
        "session(model) instead of train(model)");
    constexpr bool looks_up_own = detail::looks_up_own<D, typename R::ModelType>;
    static_assert(
        !looks_up_own,
        "distrib: with_data: a model with an Embedding cannot use OwnBatches, because its lookups() must see a "
        "batch before run() is called; give the session data");
    if constexpr (fits && !looks_up_own) return copied(recipe_.with_data(std::move(data)));
    else return detail::NoTrainer{};
  }
  template <class D>
  auto with_data(D) const -> detail::NoTrainer {
    detail::explain_dataset<D>();
    return {};
  }

  /// Sets which parameter server task gets each part of a variable. Default: round robin.
  template <PlacementStrategy P>
  [[nodiscard]] auto with_placement(P placement) const -> TrainerBuilder {
    return with(&TrainingOptions::placement, detail::AnyPlacement::of(std::move(placement)));
  }
  template <class P>
  auto with_placement(P) const -> detail::NoTrainer {
    detail::explain_placement_strategy<P>();
    return {};
  }

  /// Sets how variables are divided into parts. Default: each variable is one part.
  template <Partitioner P>
  [[nodiscard]] auto with_partitioner(P partitioner) const -> TrainerBuilder {
    return with(&TrainingOptions::partitioner, detail::AnyPartitioner::of(std::move(partitioner)));
  }
  template <class P>
  auto with_partitioner(P) const -> detail::NoTrainer {
    detail::explain_partitioner<P>();
    return {};
  }

  /// Sets when contributions count: `BulkSynchronousParallel` (the default), `StaleSynchronousParallel` or
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
                  "AsynchronousParallel, and nothing else");
    return {};
  }

  /// Sets how gradients change the variables. Default: `Sgd`. Throws `optimizer_errc` if the updater's hyper-parameters
  /// are not usable.
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

  /// Sets the updater of the variables and tables whose names begin with `prefix`: "wide/", or a whole name. If several
  /// prefixes match, the longest one counts; if a prefix is given twice, the last call counts. A name that the model's
  /// `updaters()` gives is as long as the whole name, so only the same name replaces it. Throws `optimizer_errc` if the
  /// updater's hyper-parameters are not usable. `build` throws `train_errc::no_such_variable` if no name begins with
  /// `prefix`, or if `prefix` is empty.
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

  /// Sets the updater of the variables and tables for which `predicate` holds, by name, shape, element type or
  /// initializer: `with_updater([](auto& v) { return v.shape.rank() <= 1; }, Sgd{.learning_rate = 0.1F})`. Counts for
  /// those that have no updater by name. If several predicates hold, the last call counts. A table is presented as a
  /// variable of shape [rows, dim], with 0 rows if any number is a key; counters are not presented. Throws
  /// `optimizer_errc` if the updater's hyper-parameters are not usable. `build` throws `train_errc::no_such_variable`
  /// if `predicate` holds for nothing, and what `predicate` throws.
  ///
  /// `predicate` must be a pure function, because every worker calls it. The job's text has the updater of each
  /// variable, not the predicate.
  template <detail::GroupPredicate P, Updater U>
  [[nodiscard]] auto with_updater(P predicate, U updater) const -> TrainerBuilder {
    detail::check_updater(updater);
    TrainerBuilder next = *this;
    next.recipe_.options.updater_groups.emplace_back(std::move(predicate), std::move(updater));
    return next;
  }
  template <detail::NoPrefix P, class U>
  auto with_updater(P, U) const -> detail::NoTrainer {
    constexpr bool fits = detail::GroupPredicate<P>;
    static_assert(fits,
                  "distrib: with_updater: the first of two arguments must be a prefix of names, or a function "
                  "bool(const distrib::VariableInfo&) that can be copied");
    detail::explain_updater<U>();
    return {};
  }

  /// Adds what runs beside the training, and settings: `StopAtStep`, `SaveCheckpoint`, `ExportModel`, `Evaluate`,
  /// `WriteSummaries`, `ShowProgress`, or a `Hook` of your own.
  template <class... Hs>
    requires(Hook<Hs> && ...)
  [[nodiscard]] auto with_hooks(Hs... hooks) const {
    constexpr bool stop_right = ((detail::may_stop<Hs> || !detail::has_stop_reason<Hs>) && ...);
    constexpr bool wants_right = ((detail::asks_for_checkpoints<Hs> || !detail::has_wants_checkpoint<Hs>) && ...);
    constexpr bool report_right = ((detail::reports<Hs> || !detail::has_report<Hs>) && ...);
    constexpr bool directory_right = ((detail::writes_files<Hs> || !detail::has_written_directory<Hs>) && ...);
    static_assert(stop_right, "distrib: stop_reason() of a hook must be: auto stop_reason() const -> std::string");
    static_assert(wants_right, "distrib: wants_checkpoint() of a hook must be: auto wants_checkpoint() -> bool");
    static_assert(report_right, "distrib: report() of a hook must be: auto report() -> std::optional<distrib::Event>");
    static_assert(directory_right,
                  "distrib: written_directory() of a hook must be: auto written_directory() const -> std::string");
    return copied(recipe_.with_hooks(std::move(hooks)...));
  }
  template <class... Hs>
  auto with_hooks(Hs...) const -> detail::NoTrainer {
    constexpr bool fit = (Hook<Hs> && ...);
    static_assert(fit,
                  "distrib: with_hooks: a Hook needs on_start(const JobStart&), on_step(const StepDone&), "
                  "on_contribution(const ContributionMade&), on_saving(const CheckpointBegun&), on_saved(const "
                  "CheckpointSaved&), on_evaluated(const Evaluated&), on_event(const Event&), on_phase(const "
                  "PhaseMeasured&) or on_end(const JobEnd&)");
    return {};
  }

  /// Sets the seed of the initial values and of all random numbers of the model: of its initializers, of its own
  /// `initial_values(values, seed)`, and of `StepContext::random`. No other seed is needed. Default: 0.
  [[nodiscard]] auto with_seed(std::uint64_t seed) const -> TrainerBuilder {
    return with(&TrainingOptions::seed, seed);
  }

  /// Starts variables and tables from the values in a checkpoint, "dir/model.ckpt-100", or in another file of tensors:
  /// "dir/model.safetensors", "dir/model.safetensors.index.json", "dir/model.pt". They are found by their names. Values
  /// of type float16 and bfloat16 become float32. A table with arbitrary keys comes from a checkpoint of this library,
  /// or from two tensors, NAME/keys and NAME/values. Slots, counters and steps start as in any new job. Compare
  /// TensorFlow's `warm_start` and `init_from_checkpoint`.
  ///
  /// Variables that the checkpoint does not have: training is refused with `ps_errc::not_in_checkpoint`; the text names
  /// them and the most similar names in the checkpoint. Either map them with `options.names`, which can also say that a
  /// variable is not taken from the checkpoint, or set `options.allow_missing`: then they start from their
  /// initializers, those with a `CustomInitializer` with the values of the model. Damaged values, and values of another
  /// type or shape, are refused too.
  ///
  /// Errors: `build` throws `train_errc::no_such_variable` if an entry of `options.names` matches no variable or table,
  /// and `train_errc::bad_initial_name` if an entry is malformed or two entries are for the same name.
  ///
  /// In a cluster each parameter server reads the checkpoint, also later, if the whole job has to go back to step 0: so
  /// it must stay in place. Its absolute path and the names are part of the identity of the job; `allow_missing` is
  /// not. It may be a checkpoint in an object store, "s3://bucket/run/model.ckpt-600": see `with_object_stores`.
  [[nodiscard]] auto with_initial_checkpoint(std::string path, InitialCheckpointOptions options = {}) const
      -> TrainerBuilder {
    return with(&TrainingOptions::initial_checkpoint, std::move(path))
        .with(&TrainingOptions::initial_checkpoint_options, std::move(options));
  }

  /// Makes parameter servers keep moving averages of all variables and of the rows of tables, beside the values and
  /// updated with them. They are in each checkpoint, as VARIABLE/ExponentialMovingAverage, and training continues them
  /// after a restart. They cost the memory of one more slot. Training itself and `parameters_sha256` use the values;
  /// `Evaluate` measures the values, or with `.averages` the averages. The average of a row changes only when the row
  /// does. Default: none. Throws `optimizer_errc::bad_decay` if the decay is not from 0 to below 1.
  [[nodiscard]] auto with_moving_average(MovingAverage average) const -> TrainerBuilder {
    std::error_code ec;
    average.check(ec);
    if (ec) throw_error(ec, "with_moving_average: " + average.describe());
    return with(&TrainingOptions::moving_average, average);
  }

  /// Makes each contribution of this many batches: the model's `gradients()` is called once for each of them with the
  /// same values, and the mean of the gradients and of the losses counts. Amounts for counters are added. So one
  /// contribution is what one batch of `batches` times the size would give, up to rounding, with the memory of one
  /// batch at a time for what the model computes. The values are pulled, and the gradient is clipped and sent, once.
  /// The batches of (step, rank) follow one another in the data: from number ((step - 1) * ranks + rank) * batches on.
  /// `StepContext::random()` differs between them. Default: 1. `run` throws `train_errc::bad_accumulation` for 0, and
  /// for more than 4096.
  [[nodiscard]] auto with_gradient_accumulation(std::uint32_t batches) const -> TrainerBuilder {
    return with(&TrainingOptions::gradient_accumulation, batches);
  }

  /// Makes each worker train alone for `count` batches, and only then send and receive: from the values of a step it
  /// makes `count` local steps on a copy of its own, with `updater`, and its contribution is (values before - values
  /// after). The updater of `with_updater` takes the mean of these for a gradient. So the traffic for each batch falls
  /// to 1 / count (Local SGD; DiLoCo). A rate that makes one small step, such as the default of `with_updater`, would
  /// throw the work of the workers away. Choose `Momentum{.learning_rate = 0.7F, .momentum = 0.9F, .use_nesterov =
  /// true}`, or `Sgd{1}` for the plain mean.
  ///
  /// Steps of the job, of hooks, checkpoints and schedules of `with_updater` are then these rounds. Only `StopAtStep`
  /// counts local steps, so that it stops after the same number of batches; it must be a multiple of `count`. The model
  /// (`StepContext::step`), `FeedFn` and schedules of `updater` see the number of the local step, whose batch is the one
  /// that the step of this number has without local steps.
  ///
  /// The slots of `updater` begin anew in each round: then a contribution follows from the job and the values of its
  /// step, and any process can make it again with the same bits. Clipping and accumulation are those of each local
  /// step. What has an updater of the model is updated with that one in the local steps too. `count` is at most 65536.
  ///
  /// Default: none. Throws `optimizer_errc` if the updater's hyper-parameters are not usable. `build` throws
  /// `train_errc::bad_local_steps` for a model with tables, for a `count` of 0 or above 65536, and if `StopAtStep` is
  /// not a multiple of it.
  template <Updater U>
  [[nodiscard]] auto with_local_steps(std::uint32_t count, U updater) const -> TrainerBuilder {
    detail::check_updater(updater);
    return with(&TrainingOptions::local_steps, LocalSteps{count, std::move(updater)});
  }
  template <class U>
  auto with_local_steps(std::uint32_t, U) const -> detail::NoTrainer {
    detail::explain_updater<U>();
    return {};
  }

  /// Sets how each gradient is made smaller before it is sent: `ClipByNorm` or `ClipByValue`. The norm is that of the
  /// whole gradient of one contribution, of all variables and of the rows of tables together. So each contribution is
  /// clipped, and then their mean is taken; PyTorch's DDP takes the mean first. Counters are not clipped, and neither
  /// is
  /// what has an updater of the model, such as a running mean: it does not count for the norm. Default: not at all.
  /// Throws `optimizer_errc::clipping_not_positive` if the bound is not positive and finite.
  template <std::convertible_to<GradientClipping> C>
  [[nodiscard]] auto with_gradient_clipping(C clipping) const -> TrainerBuilder {
    const GradientClipping chosen{clipping};
    std::error_code ec;
    chosen.check(ec);
    if (ec) throw_error(ec, "with_gradient_clipping: " + chosen.describe());
    return with(&TrainingOptions::gradient_clipping, chosen);
  }
  template <class C>
  auto with_gradient_clipping(C) const -> detail::NoTrainer {
    constexpr bool fits = std::convertible_to<C, GradientClipping>;
    static_assert(fits, "distrib: with_gradient_clipping takes ClipByNorm or ClipByValue, and nothing else");
    return {};
  }

  /// If `check` is true, a gradient that is NaN or infinite ends the job with `ps_errc::not_finite`. Every worker
  /// reports step, rank and variable. The gradient has changed nothing. Compare tf.debugging.enable_check_numerics.
  /// Default: false.
  [[nodiscard]] auto with_check_numerics(bool check = true) const -> TrainerBuilder {
    return with(&TrainingOptions::check_numerics, check);
  }

  /// Sets in which order the contributions of a step are added: float sums depend on it, so all processes must set the
  /// same. Default: `ReductionOrder::tree` in a synchronous job with more than `most_ranks_in_order` workers, without
  /// backup workers and without tables; otherwise `ReductionOrder::rank_order`. A job that continues from a checkpoint
  /// of rank order, with otherwise the same settings, stays in rank order. `ReductionOrder::tree` in another job is
  /// `train_errc::no_tree`.
  [[nodiscard]] auto with_reduction(ReductionOrder reduction) const -> TrainerBuilder {
    return with(&TrainingOptions::reduction, std::optional{reduction});
  }

  /// Lets the ranks of the job change while it runs: it begins with the ranks from 0 on, as many as `--ranks` says, and
  /// `distrib scale` asks for others, all below `most`. What the values are then follows from the job, the data and the
  /// log of these changes. All processes must set the same. The flag `--most_ranks` (`ClusterFlags::most_ranks`)
  /// replaces it. The order in which contributions are added is by default that of a job with `most` ranks. Data that
  /// end count as if each step had `most` ranks.
  ///
  /// Default: 0, the ranks never change. Needs a synchronous job without backup workers, tables, replicas and
  /// `OwnBatches`, whose batches do not come while it runs; in a cluster `--ranks`. Otherwise `run` throws
  /// `train_errc::cannot_change_ranks`.
  [[nodiscard]] auto with_most_ranks(std::uint32_t most) const -> TrainerBuilder {
    return with(&TrainingOptions::most_ranks, most);
  }

  /// Lets keys of tables be erased while the job runs, by `distrib erase` or `erase_keys`: each parameter server keeps a
  /// log beside its cuts that says which keys go after which step. What the values are then follows from the job, the
  /// data and this log. All processes must set the same. Costs a small file each 500 steps.
  ///
  /// Default: no. Needs a synchronous job without backup workers, replicas, `with_most_ranks` and `OwnBatches`, with a
  /// table of any keys; in a cluster `SaveCheckpoint`. Otherwise `run` throws `train_errc::cannot_erase_keys`.
  [[nodiscard]] auto with_erasable_keys(bool erasable = true) const -> TrainerBuilder {
    return with(&TrainingOptions::erases_keys, erasable);
  }

  /// Sets by what the gradients of one key of a table are divided. Default: by the number of contributions of the step
  /// that have the key.
  [[nodiscard]] auto with_row_mean(RowMean mean) const -> TrainerBuilder {
    return with(&TrainingOptions::row_mean, mean);
  }

  /// Sets the format in which values and gradients are sent. `FloatFormat::bfloat16` and `FloatFormat::float16` halve
  /// the traffic: the model sees rounded values, and the updater sees the mean of rounded gradients, also if the job is
  /// one process. `Int8Gradients{}` sends 3/8 of the bytes: gradients as int8 numbers, rounded at random, and values as
  /// bfloat16. The dense variables in `TrainingResult::parameters_sha256` are then the rounded ones. Parameter servers
  /// and checkpoints keep float32. Default: float32.
  [[nodiscard]] auto with_wire_format(WireFormat format) const -> TrainerBuilder {
    return with(&TrainingOptions::wire_format, format);
  }

  /// Sets how many workers and shards a job in one process has, and how many shards each parameter server of a cluster
  /// has. Default: one of each.
  [[nodiscard]] auto with_local_mode(LocalMode local) const -> TrainerBuilder {
    return with(&TrainingOptions::local, local);
  }

  /// Sets how a job of several processes behaves.
  [[nodiscard]] auto with_cluster_mode(ClusterMode cluster) const -> TrainerBuilder {
    return with(&TrainingOptions::cluster, std::move(cluster));
  }

  /// Sets how many replicas of each shard a cluster keeps, on different parameter servers: 1 or 2. With 2, training
  /// continues without a pause when a server dies, and nothing is lost when its disk is lost, at twice the traffic and
  /// memory. 2 needs a synchronous job in which every rank counts, and at least 2 servers; otherwise `run` throws
  /// `train_errc::no_replicas`. A job in one process ignores this setting. Default: 1.
  [[nodiscard]] auto with_replicas(std::uint32_t replicas) const -> TrainerBuilder {
    return with(&TrainingOptions::replicas, replicas);
  }

  /// Sets what opens directories in object stores: `s3_stores()` of `remote.hpp`, component distrib::http. Then
  /// `SaveCheckpoint::directory` may be a URL, "s3://bucket/run": parameter servers, or the job in one process, keep their
  /// cuts there, and no disk is shared. So may `ExportModel::to`. All tasks need it. Without it a URL is refused at the
  /// start: `record_errc::no_object_store`.
  [[nodiscard]] auto with_object_stores(OpenObjectStore open) const -> TrainerBuilder {
    return with(&TrainingOptions::object_stores, std::move(open));
  }

  /// Returns a trainer that does everything on the thread that calls `run()`. Asks the model for its variables. Throws
  /// what `plan` and `TrainingPlan::check` throw: see `with_updater`, `with_initial_checkpoint` and `Evaluate`.
  [[nodiscard]] auto build() const { return make<Trainer>(); }

  /// Returns a trainer that computes contributions on the threads of `pool`. The pool must outlive the trainer, and
  /// must not be stopped while the trainer runs. Throws as `build()`.
  [[nodiscard]] auto build(IoPool& pool) const { return make<Trainer>(&pool); }

  /// Returns a trainer for the role that the flags give: one program serves for all roles. Without a job name the whole
  /// job runs in this process, as with `build(pool)`. For a parameter server nothing is asked of the model, neither
  /// here nor in `run()`, unless a job names an updater that only the model has. Throws as `build()`.
  [[nodiscard]] auto build(IoPool& pool, const ClusterFlags& flags) const { return make<ClusterTrainer>(pool, flags); }

  /// Begins a session of the whole job in this process: restores it, if there is a checkpoint, and prepares the first
  /// contribution. `open(pool)` saves and measures on the threads of the pool meanwhile; the step always runs on the
  /// thread that calls `TrainingSession::run`. Throws as `build()` and `Trainer::run`.
  [[nodiscard]] auto open(SessionOptions<typename R::ModelType::Variables> options = {}) const {
    return open_session(std::move(options), [](auto plan, auto) {
      return std::make_unique<SessionLoop>(std::move(plan), static_cast<IoPool*>(nullptr));
    });
  }
  [[nodiscard]] auto open(IoPool& pool, SessionOptions<typename R::ModelType::Variables> options = {}) const {
    return open_session(std::move(options),
                        [&pool](auto plan, auto) { return std::make_unique<SessionLoop>(std::move(plan), &pool); });
  }

  /// Begins a session in the role that the flags give. A worker joins its parameter servers and waits for the first
  /// values: see `SessionOptions::max_wait`. Without a job name the whole job runs in this process, as with
  /// `open(pool)`. Throws as `build(pool, flags)` and `ClusterTrainer::run`, and `train_errc::not_ready` if a wait is
  /// too long.
  [[nodiscard]] auto open(IoPool& pool, const ClusterFlags& flags,
                          SessionOptions<typename R::ModelType::Variables> options = {}) const {
    return open_session(std::move(options), [&](auto plan, std::chrono::milliseconds max_wait) {
      return std::make_unique<SessionLoop>(std::move(plan), pool, flags, max_wait);
    });
  }

  /// Returns the plan that trainers hold: all the roles, without the user's types. `sim::run` takes a plan, too. Asks
  /// nothing of the model. Throws `train_errc::bad_initial_name`, see `with_initial_checkpoint`.
  [[nodiscard]] auto plan() const {
    constexpr bool has_data = !std::same_as<typename R::DataType, detail::NoData>;
    constexpr bool measurable = detail::EvaluatedModel<typename R::ModelType> || !detail::evaluates<decltype(R::hooks)>;
    static_assert(has_data,
                  "distrib: build: the trainer has no data; call with_data(tfrecords(...).schema(...).batch(n))");
    constexpr bool once = detail::each_setting_once<decltype(R::hooks)>;
    static_assert(
        once,
        "distrib: build: each of StopAtStep, SaveCheckpoint, ExportModel, Evaluate, ProgressiveValidation and "
        "GlobalStepWaiter may be given only once");
    static_assert(
        measurable,
        "distrib: for the hook Evaluate{}, a model needs: auto evaluate(const distrib::Batch<Example>&, const "
        "distrib::Values<Variables>&) const -> distrib::Metrics");
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
    constexpr bool is_session = detail::is_session_model<typename R::ModelType>;
    static_assert(!is_session, "distrib: build: a session has no trainer; call open() instead of build()");
    auto made = plan();
    if constexpr (std::same_as<decltype(made), TrainingPlan>)
      return TrainerType{std::move(made), std::forward<Args>(args)...};
    else return made;
  }

  template <class Options, class MakeLoop>
  auto open_session(Options options, MakeLoop make_loop) const {
    constexpr bool is_session = detail::is_session_model<typename R::ModelType>;
    static_assert(is_session,
                  "distrib: open: only a session can be opened; start with session(model), or call build()");
    if constexpr (is_session) {
      TrainerBuilder own = *this;
      own.recipe_.model = recipe_.model.apart();
      own.recipe_.model.state()->options = std::move(options);
      auto made = own.plan();
      if constexpr (std::same_as<decltype(made), TrainingPlan>)
        return TrainingSession<typename R::ModelType::Plain, std::same_as<typename R::DataType, OwnBatches>>{
            own.recipe_.model.state(), make_loop(std::move(made), own.recipe_.model.state()->options.max_wait)};
      else return made;
    } else {
      return detail::NoTrainer{};
    }
  }

  R recipe_;
};

namespace detail {
template <class M>
concept ForSession =
    std::is_class_v<M> && !std::is_final_v<M> && HasVariables<M> && HasVariablesFunction<M> && Model<SessionModel<M>>;
}  // namespace detail

/// Starts to build a session, a training whose loop belongs to the program: `session(Mlp{}).with_data(...).with_hooks(
/// StopAtStep{6000}).open(pool, flags)`, see `TrainingSession`. All `with_` functions are those of a trainer. The model
/// needs `Variables` and `variables()`, an `Example` unless it has `OwnBatches`, and whatever else it uses of what
/// `Model` lists, but no `gradients()`: that is what the loop does. It must not be a final class.
template <detail::ForSession M>
[[nodiscard]] auto session(M model) {
  constexpr bool brings_updaters = detail::BringsUpdaters<M> || !detail::HasUpdatersMember<M>;
  static_assert(brings_updaters,
                "distrib: updaters() of a model must be: auto updaters() const -> distrib::ModelUpdaters");
  constexpr bool describes = detail::DescribesArithmetic<M> || !detail::HasDescribeMember<M>;
  static_assert(describes, "distrib: describe() of a model must be: auto describe() const -> std::string");
  using Start = Recipe<detail::SessionModel<M>, detail::NoData, std::tuple<>>;
  return TrainerBuilder<Start>{Start{detail::SessionModel<M>{std::move(model)}, {}, {}}};
}

// For a type that cannot be the model of a session: reports each thing that it lacks, one sentence each.
template <class M>
auto session(M) -> detail::NoTrainer {
  constexpr bool variables = detail::HasVariables<M>;
  constexpr bool can_inherit = std::is_class_v<M> && !std::is_final_v<M>;
  static_assert(variables,
                "distrib: the model of a session needs: using Variables = distrib::VariableList<...>, or "
                "distrib::RuntimeVariables");
  static_assert(can_inherit, "distrib: the model of a session must be a class that is not final");
  if constexpr (variables && can_inherit) {
    constexpr bool lists = detail::HasVariablesFunction<M>;
    constexpr bool looks_up = detail::LooksUp<detail::SessionModel<M>>;
    static_assert(lists, "distrib: the model of a session needs: auto variables() const -> Variables");
    static_assert(looks_up,
                  "distrib: a model with an Embedding needs: void lookups(const distrib::Batch<Example>&, "
                  "distrib::Lookups<Variables>&) const");
  }
  return {};
}

/// Starts to build a trainer for a model: `train(Mlp{}).with_data(...).with_updater(...).build(pool, flags)`.
template <Model M>
[[nodiscard]] auto train(M model) {
  constexpr bool brings_updaters = detail::BringsUpdaters<M> || !detail::HasUpdatersMember<M>;
  static_assert(brings_updaters,
                "distrib: updaters() of a model must be: auto updaters() const -> distrib::ModelUpdaters");
  constexpr bool describes = detail::DescribesArithmetic<M> || !detail::HasDescribeMember<M>;
  static_assert(describes, "distrib: describe() of a model must be: auto describe() const -> std::string");
  using Start = Recipe<M, detail::NoData, std::tuple<>>;
  return TrainerBuilder<Start>{Start{std::move(model), {}, {}}};
}

// For a type that is no `Model`: reports each thing that the model lacks, one sentence each.
template <class M>
auto train(M) -> detail::NoTrainer {
  constexpr bool variables = detail::HasVariables<M>;
  constexpr bool example = detail::HasExample<M>;
  static_assert(variables,
                "distrib: a model needs: using Variables = distrib::VariableList<...>, or distrib::RuntimeVariables");
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
