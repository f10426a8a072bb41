// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/variables.hpp>
#include <distrib/example/batch.hpp>
#include <distrib/libtorch/detail/module_traits.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_rows.hpp>
#include <distrib/tensor/lookups.hpp>
#include <distrib/train/metrics.hpp>

#include <concepts>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

template <class Task> using MadeBy = decltype(std::declval<const Task&>().make());

template <class Task>
concept HasExampleType = requires { typename Task::Example; };
template <class Task>
concept HasMake = requires { typename ModuleTraits<MadeBy<Task>>::Scope; };
template <class Task>
concept TableTask = requires { typename Task::Tables; };

/// True if `loss` can be called with an `Argument`, which is a module or what `make()` returned. If there are tables,
/// it must take their rows too.
template <class Task, class Argument>
concept LossTakes =
    requires(const Task& task, Argument& argument, const Batch<typename Task::Example>& batch) {
      requires !TableTask<Task>;
      { task.loss(argument, batch) } -> std::convertible_to<torch::Tensor>;
    } || requires(const Task& task, Argument& argument, const Batch<typename Task::Example>& batch,
                  const TorchRows<typename Task::Tables>& rows) {
      { task.loss(argument, batch, rows) } -> std::convertible_to<torch::Tensor>;
    };
template <class Task>
concept HasLoss = LossTakes<Task, typename ModuleTraits<MadeBy<Task>>::Module> || LossTakes<Task, MadeBy<Task>>;

/// The same for `evaluate`, which need not take the rows.
template <class Task, class Argument>
concept EvaluateTakesRows = requires(const Task& task, Argument& argument, const Batch<typename Task::Example>& batch,
                                     const TorchRows<typename Task::Tables>& rows) {
  { task.evaluate(argument, batch, rows) } -> std::same_as<Metrics>;
};
template <class Task, class Argument>
concept EvaluateTakes = requires(const Task& task, Argument& argument, const Batch<typename Task::Example>& batch) {
  { task.evaluate(argument, batch) } -> std::same_as<Metrics>;
} || EvaluateTakesRows<Task, Argument>;
template <class Task>
concept HasEvaluate =
    EvaluateTakes<Task, typename ModuleTraits<MadeBy<Task>>::Module> || EvaluateTakes<Task, MadeBy<Task>>;

template <class Task>
concept HasLookupsOfTables =
    !TableTask<Task> || requires(const Task& task, const Batch<typename Task::Example>& batch,
                                 Lookups<typename Task::Tables>& lookups) { task.lookups(batch, lookups); };
template <class Task>
concept HasTableList = !TableTask<Task> || is_table_list<typename Task::Tables>;
template <class Task>
concept TablesFunction = !TableTask<Task> || requires(const Task& task) {
  { task.tables() } -> std::same_as<typename Task::Tables>;
};

}  // namespace detail

/// What is trained with a module of LibTorch: a type with
///
/// - `using Example = ...`: one record of its data.
/// - `make() const`: builds the module, and returns a `std::shared_ptr` of it, a holder (TORCH_MODULE), or a
///   `torch::jit::Module` (include `libtorch/script_module.hpp`). Called once for each contribution that a process
///   computes at a time, with LibTorch's random numbers beginning with the job's seed. Must build the same module each
///   time.
/// - `loss(Net& net, const Batch<Example>& batch) const`: returns a scalar, the mean loss of the batch.
/// - optionally `evaluate(Net& net, const Batch<Example>& batch) const`: returns the `Metrics` of the batch. The module
///   is in evaluation mode, and no gradients are computed.
/// - optionally tables: `using Tables = VariableList<Embedding<"user", float, 16>, ...>`, `tables() const -> Tables`
///   and `lookups(const Batch<Example>&, Lookups<Tables>&) const`, as a model has them. Then `loss` gets one more
///   argument, `const TorchRows<Tables>& rows`, and `evaluate` may.
///
/// Semantics: all are pure functions of their arguments, and of random numbers that come from LibTorch. Several threads
/// call them at once, each with a module of its own.
template <class Task>
concept TorchTask = detail::HasExampleType<Task> && detail::HasMake<Task> && detail::HasTableList<Task> &&
                    detail::TablesFunction<Task> && detail::HasLookupsOfTables<Task> && detail::HasLoss<Task>;

}  // namespace v0
}  // namespace distrib
