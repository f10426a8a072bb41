// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

// clang-format off: one line per error, however long
/// Why a training could not start or go on.
enum class train_errc {
  no_end = 1,      ///< Nothing says when the job ends, or it ends at step 0. Add the hook `StopAtStep{n}`, or `.repeat(n)` to the data.
  too_little_data, ///< The data are not enough for one whole step. Add records, or reduce the batch size or the number of workers.
  no_workers,      ///< The job has 0 workers, 0 parameter servers or 0 shards. Ask for at least one of each: see `LocalMode`, and `sim::Options`.
  nothing_to_evaluate, ///< This task is an evaluator or an onlooker, but the trainer has no `Evaluate`; or it is an evaluator, and there is no `SaveCheckpoint` whose directory it could follow. Add what is missing to the hooks.
  no_such_variable, ///< `with_updater` has a prefix or a predicate that fits no variable or table; or `with_initial_checkpoint`, or `updaters()` of the model, has a name that does not exist. Use one of the names in the text, or the beginning of one.
  too_few_workers, ///< A consistency has more `replicas_to_aggregate` than there are workers, so no step would ever be complete. Aggregate at most as many as there are workers, or start more workers.
  no_replicas,     ///< The job cannot have this number of replicas of each shard: it must be 1, or 2 in a synchronous job without backup workers and without `OwnBatches`, with at least 2 parameter servers. Use `BulkSynchronousParallel{}`, or start more servers.
  no_tree,         ///< `with_reduction(ReductionOrder::tree)` in a job that is not synchronous, has backup workers, or has tables: a tree needs each rank in each step. Leave `with_reduction` out, or use `BulkSynchronousParallel{}` and no tables.
  no_initial_values, ///< A variable has a `CustomInitializer`, but the model does not provide values. Add `void initial_values(distrib::InitialValues<Variables>&, std::uint64_t seed) const` to the model; it may leave out the seed.
  unsupported_initial_values, ///< An Embedding has a `CustomInitializer`. Give it another initializer, or begin with a checkpoint that has its rows.
  bad_initial_name, ///< An entry of `InitialCheckpointOptions::names` has none of the allowed forms, or two entries are for the same name. Write two names, or two prefixes that end with '/'.
  bad_embedding,    ///< An Embedding has `min_count` 0; or it has `rows`, and so all rows from the start, but also a `min_count` other than 1, an `evict_after` or a `max_rows`: leave out one or the others. Or it has `evict_in_turns` without `evict_after`, or `half_life` or `max_new_keys` without `max_rows`: give both. Or `max_rows` or `max_new_keys` is above 2^40.
  bad_accumulation, ///< `with_gradient_accumulation` has 0 batches, or more than 4096. Use a number between; 1 is the default.
  bad_local_steps,  ///< `with_local_steps` has 0 steps, or more than 65536; or the model has tables; or `StopAtStep` is not a multiple of these steps. Change what the text names.
  bad_hook,         ///< The arguments of a hook exclude each other, or one that it needs is missing; the text says which. Give exactly what it asks for.
  nan_loss,         ///< The loss of a contribution is NaN, and the hook `NanTensor` ends the job then. Lower the learning rate, clip the gradients, or look for the batch that the text names.
  only_in_one_process, ///< A hook asks for something that only a job in one process can do: checkpoints by time, or a number of steps from where the run begins. In a cluster, use `SaveCheckpoint::every_steps` and `StopAtStep::last_step`.
  cannot_wait,      ///< `GlobalStepWaiter` would wait for ever: without this worker no step is ever complete. Use it in a cluster, with `AsynchronousParallel`.
  no_lookups,       ///< The variables of a model are known only at run time and have tables, but the model does not say which rows a batch needs. Add `void lookups(const distrib::Batch<Example>&, distrib::Lookups<Variables>&) const` to the model.
  bad_description,  ///< `describe()` of the model returns more than 4096 bytes, or a line end or another control character. Return one short line.
  too_many_updaters, ///< More than 1000 variables have updaters that need a line of their own in the job. Set the updater of the largest group by `with_updater(updater)`, without a predicate, or select by a common prefix of the names.
  no_averages,      ///< `Evaluate` asks for averages, but there are none: the recipe has no `with_moving_average`, or in a cluster no `SaveCheckpoint`, from whose checkpoints the chief reads them. Add what the text names, or leave `.averages` out.
  session_over,     ///< `run` of a session was called after its end: all steps are done, it was asked to stop, or an error has ended it. Ask `should_stop()` before each `run`.
  not_ready,        ///< A session could not begin: within `SessionOptions::max_wait` the chief has not joined, or the parameter servers have sent no values; or `SessionOptions::ready` reports what is missing. Start the other tasks, or give them more time.
  cannot_export,    ///< `ExportModel` in a job that it cannot export: one in one process, an asynchronous one, or one whose steps may differ after a restart (backup workers, `OwnBatches`); or a table is kept as float16. Train it synchronously in a cluster, keep the table as bfloat16 or float32, or leave the hook out.
  cannot_deal,      ///< `--ranks` in a job whose ranks cannot be dealt; the text says why. Dealt ranks need a synchronous job in a cluster, without backup workers and tables, that adds in a tree (`with_reduction(ReductionOrder::tree)`, which is the default above 8 ranks), without `OwnBatches`, `ExportModel` and sessions. Train so, or leave `--ranks` out.
  cannot_change_ranks, ///< `with_most_ranks`, or `LocalMode::changes`, in a job whose ranks cannot change; the text says why. Such a job is synchronous, without backup workers, tables, replicas and `OwnBatches`, and in a cluster has `--ranks`. Train so, or leave both out.
  cannot_erase_keys, ///< `with_erasable_keys`, or `LocalMode::erased`, in a job whose keys cannot be erased; the text says why. Such a job is synchronous, has a table of any keys and in a cluster `SaveCheckpoint`, and no backup workers, replicas, `with_most_ranks` and `OwnBatches`. Train so, or leave both out.
};
// clang-format on

namespace detail {
inline constexpr ErrorText train_texts[] = {
    {train_errc::no_end, failure::invalid_argument,
     "the job has no end: add StopAtStep{n} to the hooks, or .repeat(n) to the data"},
    {train_errc::too_little_data, failure::invalid_argument,
     "the data are not enough for one whole step: add records, or reduce the batch size or the number of workers"},
    {train_errc::no_workers, failure::invalid_argument,
     "a job needs at least one worker, one parameter server, and one shard on each: raise the number that is 0"},
    {train_errc::nothing_to_evaluate, failure::invalid_argument,
     "an evaluator needs the hooks Evaluate and SaveCheckpoint: it measures the checkpoints in that directory; an "
     "onlooker needs Evaluate"},
    {train_errc::no_such_variable, failure::invalid_argument,
     "no variable or table has this name or prefix, or fits this predicate: use a name of the job, or the beginning of "
     "one"},
    {train_errc::too_few_workers, failure::invalid_argument,
     "replicas_to_aggregate is larger than the number of workers: reduce it, or start more workers"},
    {train_errc::no_replicas, failure::invalid_argument,
     "2 replicas need a synchronous job without backup workers, and at least 2 parameter servers, and there cannot be "
     "more than 2: use BulkSynchronousParallel{}, start more servers, or use 1 replica"},
    {train_errc::no_tree, failure::invalid_argument,
     "ReductionOrder::tree needs a synchronous job without backup workers and without tables: leave with_reduction "
     "out"},
    {train_errc::no_initial_values, failure::invalid_argument,
     "the variable has a CustomInitializer, but the model provides no values: add initial_values() to the model"},
    {train_errc::unsupported_initial_values, failure::unsupported,
     "a CustomInitializer is possible only for a Variable: give the Embedding another initializer"},
    {train_errc::bad_initial_name, failure::invalid_argument,
     "this entry is not allowed: give two names, or two prefixes that end with '/' or '.', or \"\" as the name in the "
     "checkpoint, and each name of the job only once"},
    {train_errc::bad_accumulation, failure::invalid_argument,
     "the number of batches of one contribution must be from 1 to 4096"},
    {train_errc::bad_local_steps, failure::invalid_argument,
     "a worker makes from 1 to 65536 local steps of its own, the model has no tables, and StopAtStep is a multiple of "
     "the local steps"},
    {train_errc::bad_hook, failure::invalid_argument, "the arguments of this hook do not go together"},
    {train_errc::nan_loss, failure::invalid_argument,
     "NaN loss during training: lower the learning rate, clip the gradients, or look at this batch"},
    {train_errc::only_in_one_process, failure::unsupported,
     "this hook can be used only by a job in one process: in a cluster use SaveCheckpoint::every_steps and "
     "StopAtStep::last_step"},
    {train_errc::cannot_wait, failure::invalid_argument,
     "without this worker the global step would never move: use GlobalStepWaiter in a cluster that trains "
     "asynchronously"},
    {train_errc::bad_embedding, failure::invalid_argument,
     "min_count must be at least 1; an Embedding with rows can have none of min_count, evict_after and max_rows; "
     "evict_in_turns needs evict_after, half_life and max_new_keys need max_rows"},
    {train_errc::no_lookups, failure::invalid_argument,
     "the model has tables, but no lookups() that says which rows a batch needs"},
    {train_errc::bad_description, failure::invalid_argument,
     "describe() of a model must return one line of at most 4096 bytes without control characters"},
    {train_errc::too_many_updaters, failure::exhausted,
     "at most 1000 variables can have updaters of their own: give the largest group with_updater(updater) without a "
     "predicate, or select by prefix"},
    {train_errc::no_averages, failure::invalid_argument,
     "there are no averages to measure: add this to the recipe, or leave .averages of Evaluate out"},
    {train_errc::session_over, failure::invalid_argument,
     "run called after the session has ended: ask should_stop() before each run"},
    {train_errc::not_ready, failure::timeout,
     "the session was not ready in time: start the chief and the parameter servers, or wait longer"},
    {train_errc::cannot_export, failure::unsupported,
     "ExportModel needs a cluster, a synchronous job without backup workers and OwnBatches, and no table kept as "
     "float16: train so, or leave the hook out"},
    {train_errc::cannot_deal, failure::unsupported,
     "the ranks of this job cannot be dealt to processes: change what the text names, or leave --ranks out"},
    {train_errc::cannot_change_ranks, failure::unsupported,
     "the ranks of this job cannot change: change what the text names, or leave with_most_ranks out"},
    {train_errc::cannot_erase_keys, failure::unsupported,
     "the keys of this job cannot be erased: change what the text names, or leave with_erasable_keys out"},
};

/// Category "distrib.train".
[[nodiscard]] inline auto train_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.train", train_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(train_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::train_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::train_errc> : std::true_type {};
