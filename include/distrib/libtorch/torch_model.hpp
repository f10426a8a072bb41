// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/lent_columns.hpp>
#include <distrib/libtorch/random_scope.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_modules.hpp>
#include <distrib/libtorch/torch_options.hpp>
#include <distrib/libtorch/torch_rows.hpp>
#include <distrib/libtorch/torch_task.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/tensor/initial_values.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/model_updaters.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Calls `call`. An error of LibTorch leaves it as `libtorch_errc::refused`, with its sentence and without its
/// backtrace.
template <class F> auto with_torch_errors(F&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const c10::Error& error) {
    throw_error(libtorch_errc::refused, error.what_without_backtrace());
  }
}

template <class Task> struct ExampleOf {
  using Type = Poison;
};
template <HasExampleType Task> struct ExampleOf<Task> {
  using Type = typename Task::Example;
};

/// A task in place of a type that is none. Reports each thing that the type lacks, one sentence each, and nothing else.
template <class Task> struct NoTask {
  using Example = typename ExampleOf<Task>::Type;

  NoTask(const Task&) {  // NOLINT: implicit on purpose
    constexpr bool example = HasExampleType<Task>;
    constexpr bool makes = HasMake<Task>;
    static_assert(example, "distrib: a task needs a type Example: one record of its data");
    static_assert(makes,
                  "distrib: a task needs: auto make() const, which returns a std::shared_ptr of its torch::nn::Module");
    constexpr bool list = HasTableList<Task>;
    static_assert(
        list,
        "distrib: the Tables of a task must be a VariableList of Embeddings, and of nothing else: the rest of "
        "what is trained are the parameters of its module");
    if constexpr (example && makes && list) {
      constexpr bool tables = TablesFunction<Task>;
      constexpr bool looks_up = HasLookupsOfTables<Task>;
      constexpr bool loss = HasLoss<Task>;
      static_assert(tables, "distrib: a task with Tables needs: auto tables() const -> Tables");
      static_assert(looks_up,
                    "distrib: a task with Tables needs: void lookups(const distrib::Batch<Example>&, "
                    "distrib::Lookups<Tables>&) const");
      static_assert(loss || TableTask<Task>,
                    "distrib: a task needs: auto loss(Net&, const distrib::Batch<Example>&) const -> torch::Tensor");
      static_assert(loss || !TableTask<Task>,
                    "distrib: a task with Tables needs: auto loss(Net&, const distrib::Batch<Example>&, const "
                    "distrib::TorchRows<Tables>&) const -> torch::Tensor");
    }
  }

  [[nodiscard]] auto make() const -> std::shared_ptr<torch::nn::Module> { return nullptr; }
  [[nodiscard]] auto loss(torch::nn::Module&, const Batch<Example>&) const -> torch::Tensor { return {}; }
  [[nodiscard]] auto evaluate(torch::nn::Module&, const Batch<Example>&) const -> Metrics { return {}; }
};

}  // namespace detail

/// A model that trains a module of LibTorch: `train(TorchModel{Digits{}, {.intra_op_threads = 2}})`. See `TorchTask`
/// for what a task has, and `TorchOptions` for the rest.
///
/// The parameters of the module are the variables of the job, under their names in LibTorch ("conv1.weight"), and so
/// are buffers that follow the data; the others, and parameters without `requires_grad`, are constants. Initial values
/// are those that `make()` draws with the seed of the job. While a contribution is computed, parameters and their
/// gradients are the memory that travels; nothing is copied. Parameters must not be used outside `loss()` and
/// `evaluate()`: `load` puts a checkpoint into a module of one's own.
///
/// The module is made when the model is used first; a parameter server never makes it.
///
/// Errors: a module that cannot be trained, or a step that would give a wrong result, throws a `libtorch_errc` that
/// names the tensor. An error of LibTorch becomes `libtorch_errc::refused`.
///
/// Threads: any. A copy shares the modules.
template <TorchTask Task> class TorchModel {
  using Modules = detail::TorchModules<Task>;
  using Module = typename Modules::Module;
  using Traits = typename Modules::Traits;
  using Made = typename Modules::Made;
  static constexpr bool has_tables = detail::TableTask<Task>;

 public:
  using Example = typename Task::Example;
  using Variables = RuntimeVariables;

  explicit TorchModel(Task task = {}, TorchOptions options = {})
      : modules_{std::make_shared<Modules>(std::move(task), std::move(options))} {}

  /// Returns parameters, then buffers that are followed, and the tables of the task. Makes the module at the first
  /// call.
  [[nodiscard]] auto variables() const -> Variables {
    return detail::with_torch_errors([&] {
      std::vector<TableInfo> tables;
      if constexpr (has_tables) tables = modules_->task().tables().table_infos();
      return Variables{modules_->variables(), std::move(tables)};
    });
  }

  /// Returns the updaters of buffers that are averaged: a step sets them to the mean of what the ranks made of them.
  [[nodiscard]] auto updaters() const -> ModelUpdaters {
    ModelUpdaters updaters;
    for (const std::string& name : detail::with_torch_errors([&] { return modules_->averaged(); }))
      updaters.emplace_back(name, Sgd{.learning_rate = 1.0F});
    return updaters;
  }

  /// Writes the values of a new module, which `make()` draws with this seed.
  void initial_values(InitialValues<Variables>& values, std::uint64_t seed) const {
    detail::with_torch_errors([&] {
      auto module = modules_->make(seed);
      module->bound.copy_values(values);
      modules_->give_back(std::move(module));
    });
  }

  /// Returns "libtorch 1.13.0 threads 1 deterministic", and the digest of the constants if there are any.
  [[nodiscard]] auto describe() const -> std::string {
    return detail::with_torch_errors([&] { return modules_->describe(); });
  }

  void lookups(const Batch<Example>& batch, Lookups<Variables>& lookups) const
    requires has_tables
  {
    Lookups<typename Task::Tables> keys;
    for (std::size_t t = 0; t < Task::Tables::size; ++t) keys.keys(t).swap(lookups.keys(t));
    modules_->task().lookups(batch, keys);
    for (std::size_t t = 0; t < Task::Tables::size; ++t) keys.keys(t).swap(lookups.keys(t));
  }

  auto gradients(const Batch<Example>& batch, const Values<Variables>& values, Gradients<Variables>& gradients,
                 StepContext context) const -> float {
    return detail::with_torch_errors([&] {
      auto module = modules_->take(context.seed);
      [[maybe_unused]] const typename Traits::Scope use{};
      const torch::AutoGradMode with_gradients{true};
      module->bound.bind(values, gradients);
      Traits::train(module->made, true);
      const detail::LentColumns columns;
      float result = 0;
      {
        const auto rows = rows_of(values, &gradients);
        Philox random = context.random();
        const std::uint64_t high = random();
        const torch::Tensor loss =
            drawing(high << 32 | random(), "loss()", [&] { return loss_of(*module, batch, rows); });
        if (!loss.defined() || loss.numel() != 1)
          throw_error(libtorch_errc::not_a_scalar,
                      loss.defined() ? "loss() returned " + std::to_string(loss.numel()) + " elements" : "loss()");
        if (!loss.requires_grad()) throw_error(libtorch_errc::no_graph, "loss()");
        module->bound.check_before_backward();
        loss.backward();
        result = loss.template item<float>();
        if constexpr (has_tables) rows.finish(gradients);
      }
      columns.check("loss()");
      module->bound.check_unchanged(Traits::tensors(module->made));
      module->bound.finish(values, gradients, context.rank);
      modules_->give_back(std::move(module));
      return result;
    });
  }

  /// The same values at each call: random numbers that `evaluate` of the task draws depend on the job's seed only.
  auto evaluate(const Batch<Example>& batch, const Values<Variables>& values) const -> Metrics {
    static_assert(detail::HasEvaluate<Task>,
                  "distrib: for the hook Evaluate{}, a task needs: auto evaluate(Net&, const distrib::Batch<Example>&) "
                  "const -> distrib::Metrics");
    if constexpr (detail::HasEvaluate<Task>)
      return detail::with_torch_errors([&] {
        const std::uint64_t seed = modules_->last_seed();
        auto module = modules_->take(seed);
        [[maybe_unused]] const typename Traits::Scope use{};
        const torch::NoGradGuard no_gradients;
        module->bound.bind(values);
        Traits::train(module->made, false);
        const detail::LentColumns columns;
        const Metrics metrics = drawing(Philox{seed, 0, 1}(), "evaluate()",
                                        [&] { return metrics_of(*module, batch, rows_of(values, nullptr)); });
        columns.check("evaluate()");
        module->bound.check_unchanged(Traits::tensors(module->made));
        modules_->give_back(std::move(module));
        return metrics;
      });
    else return {};
  }

 private:
  struct NoRows {};

  // Calls `call`, which may draw random numbers of this seed.
  template <class F> auto drawing(std::uint64_t seed, const char* who, F&& call) const -> decltype(call()) {
    const TorchOptions& options = modules_->options();
    const detail::AutocastScope autocast{options.device.type(), options.autocast_bfloat16};
    if (options.draws_random) {
      const detail::RandomScope random{seed, options.device};
      return call();
    }
    const detail::NoRandomScope quiet;
    auto result = call();
    quiet.check(who);
    return result;
  }

  auto rows_of(const RuntimeValues& values, RuntimeGradients* gradients) const {
    if constexpr (has_tables) return TorchRows<typename Task::Tables>{values, gradients, modules_->options().device};
    else return NoRows{};
  }

  auto loss_of(Module& module, const Batch<Example>& batch, const auto& rows) const -> torch::Tensor {
    const auto call = [&](auto& argument) -> torch::Tensor {
      if constexpr (has_tables) return modules_->task().loss(argument, batch, rows);
      else return modules_->task().loss(argument, batch);
    };
    if constexpr (detail::LossTakes<Task, typename Traits::Module>) return call(Traits::module(module.made));
    else return call(module.made);
  }

  auto metrics_of(Module& module, const Batch<Example>& batch, const auto& rows) const -> Metrics {
    const auto call = [&]<class Argument>(Argument& argument) -> Metrics {
      if constexpr (detail::EvaluateTakesRows<Task, Argument>) return modules_->task().evaluate(argument, batch, rows);
      else return modules_->task().evaluate(argument, batch);
    };
    if constexpr (detail::EvaluateTakes<Task, typename Traits::Module>) return call(Traits::module(module.made));
    else return call(module.made);
  }

  std::shared_ptr<Modules> modules_;
};

template <TorchTask Task> TorchModel(Task, TorchOptions = {}) -> TorchModel<Task>;
// For types that are no task.
template <class Task> TorchModel(Task, TorchOptions = {}) -> TorchModel<detail::NoTask<Task>>;

}  // namespace v0
}  // namespace distrib
