// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

// clang-format off: one line an error, however long
/// Why a parameter server or a worker refused a job, a message or a call.
enum class ps_errc {
  job_mismatch = 1,  ///< A checkpoint, a worker or another task belongs to another job. Use the model, initializers and seed that it was made with, or another directory; start all tasks of a job with the same program and flags.
  not_repeatable,    ///< A contribution (step, rank) arrived twice with different bytes; the first one counts. Make the model and its input a pure function of (seed, step, rank).
  unknown_rank,      ///< A message names a rank that the job does not have. Start as many workers as the job has.
  wrong_size,        ///< A contribution, a cut or initial values have another size than the shard's variables and tables. Run the same model on every worker; use the checkpoints of this job.
  no_such_task,      ///< A placement strategy named a ps task that the job does not have. Let it return a number below `num_tasks`.
  bad_job,           ///< A job's description is not understood, or is larger than a parameter server allows. Run one version of the program on all tasks; correct what the line in the message says.
  unknown_updater,   ///< The parameter server has no updater that reads this name and these hyper-parameters. Start the servers with `updaters<...>` that include it.
  not_joined,        ///< A call arrived before Join on this connection. Join first, and again after every new connection.
  too_large,         ///< A shard of the job needs more memory than its parameter server may take. Use more servers, lower `max_rows` of its tables, or raise the limit; `ShardOptions` has the limits.
  rank_lost,         ///< A worker was away for longer than its lease and the restart window together, so it is lost permanently. Find out why it ended, then start the job again.
  not_a_server,      ///< `join()` was called on a task that is no parameter server. Call it in tasks of job "ps" only.
  nobody_joined,     ///< No worker connected in time. Look at what the workers report, then start this task again.
  shape_mismatch,    ///< A block of rows, or a gradient, has another size than what it is combined with. Pass the number of rows times the elements of a row.
  bad_row_splits,    ///< The `row_splits` of a lookup do not ascend from 0 to the number of ids. Pass the start of each row, and the number of ids at the end.
  bad_weights,       ///< A lookup has another number of weights than of ids. Pass one weight for each id, or no weights.
  no_such_row,       ///< An id or key names a row that the table does not have. Look up only rows of the table; remove negative ids with the safe lookup.
  empty_row,         ///< A row of a lookup has no id. Use the safe lookup, or `LookupOptions::empty_rows`.
  unknown_combiner,  ///< The name of a combiner is not mean, sqrtn or sum. Use one of them.
  unsorted_keys,     ///< The keys of a pull, a sparse gradient or a cut do not ascend, or a key occurs twice. Make gradients with `unique_keys` and `sum_by_key`.
  not_positive,      ///< A number that must be positive is not. Pass a number above 0.
  too_few_tokens,    ///< Workers cannot finish the first step with so few tokens. Begin with at least replicas_to_aggregate - total_num_replicas.
  no_variables,      ///< `SyncReplicas` has nothing to train. Name at least one variable.
  no_global_step,    ///< `SyncReplicas` has no global step, which it needs to recognize stale gradients. Pass the step that it starts from.
  not_begun,         ///< `SyncReplicas` was used before `set_variables`, or before `begin`. Call `set_variables`, then `begin`.
  budget_exceeded,   ///< A table needs more memory than its budget has. Give it `max_rows`, so that it never fills up; or evict rows (`evict_after`), admit keys later (`min_count`), raise the budget, or use more servers. A table that has `max_rows`: raise `max_new_keys`; if it is loaded from a checkpoint with more rows, give the server memory for those.
  pull_too_large,    ///< A pull asks for more rows than one answer may hold. Ask for fewer keys at once, or raise `ShardOptions::max_pull_bytes`.
  updates_every_row, ///< The updater of a table changes every row at every step, also rows that no gradient names. Give the table another updater: `LazyAdam` instead of Adam, AMSGrad or AdamW.
  not_finite,        ///< A gradient has a NaN or an infinity, and the job checks numerics. Look for what made it, in the step and variable of the message: a logarithm, a root, a division, too high a learning rate.
  directory_in_use,  ///< Another process writes in the directory: one of the same task, or of another job. End that process, or give the job a directory of its own.
  replicas_differ,   ///< Two replicas of a shard returned different values for one step. Memory or a processor is faulty, or this library is: find out which machine it is, then start again from a checkpoint.
  bad_initial_values, ///< Custom initial values do not have the SHA-256 that the job's description has. Make `initial_values()` of the model return the same values at every call and on every worker.
  old_version,       ///< A task has an older version of the library, which cannot distinguish what was trained before and after the settings of a job were changed. Start all tasks with one version.
  not_in_checkpoint, ///< The initial checkpoint lacks variables or tables of the job. Map names with `InitialCheckpointOptions::names` (the message has the nearest names), or set `allow_missing`.
  shard_too_large,   ///< The dense values of a shard do not fit into one message. Use more servers, or more shards on each, and cut large variables by a partitioner.
  unlike_arithmetic, ///< Two workers of a synchronous job compute with different libraries, versions or settings, as their models describe them, so the bits would depend on which of them makes a contribution. Start all workers with the same build, on machines of one kind.
  not_replayable,    ///< A worker was lost, and its contributions cannot be made again, because their batches came from the program's own loop. Start all tasks again: they continue from the newest cut that all shards have.
  shard_taken_over,  ///< Another process of the same task has taken over the cuts of its shards in the object store, so this one may save nothing more. Nothing is lost. Start it again only if the other one is gone: it is named in the newest claim.
  other_ranks = 39,  ///< One task was started with `--ranks`, and another one without it, with another number, or with an older version that does not know it. Start all tasks of a job with the same `--ranks`, and with one version.
  no_sums,           ///< A worker pushes the sum of several ranks, and the parameter server takes none: it is of an older version, or it continues a job that was begun in rank order. Start all tasks with one version, or push each rank alone: `ClusterMode::sum_ranks = false`.
  shard_done,        ///< A worker was started when a shard had ended with the job, and its task had not. There is nothing to do: the last checkpoint has the result, and a worker that finds it ends with code 0.
  ranks_differ,      ///< Contributions to one step state different ranks, although the log of the ranks says which make it: a shard has lost its file of it, or got an old one back. Give each shard its own newest file, or start again from a checkpoint with another directory.
  fixed_ranks,       ///< Other ranks were asked for, and the job's ranks cannot change, or no job is known yet. Start the job with `most_ranks`; wait until it has begun.
  ranks_too_soon,    ///< Other ranks were asked for from a step that may be under way already. Ask for a step after the horizon that the message names; `distrib scale --at +N` counts from there.
  bad_ranks,         ///< The ranks that were asked for lack rank 0, do not ascend, or are not all below the job's `most_ranks`. Name rank 0, which the chief makes, each rank once, and only ranks that the job may have.
  too_many_changes,  ///< The log of the ranks is full, or too many calls for other ranks wait. Ask again later; if the log is full, continue the job in another directory from its last checkpoint.
  too_many_onlookers, ///< A shard has as many onlookers as it serves, or one of them has made a second call before the answer to its first. End an onlooker that is not needed; this one tries again by itself.
  bad_rate,          ///< Other ranks were asked for with a learning rate that the job cannot have: a factor below 1e-4 or above 1e4, too long a warm-up, a job with local steps, or an updater that does not say `scales_rate`. Give another factor, or none.
  no_such_table,     ///< Keys of a table were to be erased that the job does not have. Use the name of one of its tables: `distrib checkpoint list` shows them.
  not_erasable,      ///< The keys of this table, or of this job, cannot be erased: the keys are numbered; the job was started without `with_erasable_keys`; or no job is known yet. Start the job with it; wait until it has begun.
  too_many_erased,   ///< A call names too many keys, too many calls wait, or the log of erased keys is full. Ask for fewer keys at once, or again later; if the log is full, continue the job in another directory from its last checkpoint.
};
// clang-format on

namespace detail {
inline constexpr ErrorText ps_texts[] = {
    {static_cast<int>(ps_errc::job_mismatch), failure::mismatch,
     "this belongs to another job: use the same program and flags, or another directory"},
    {static_cast<int>(ps_errc::not_repeatable), failure::mismatch,
     "a contribution arrived twice with different bytes: the model or its input is not repeatable; make both depend on "
     "seed, step and rank only"},
    {static_cast<int>(ps_errc::unknown_rank), failure::invalid_argument,
     "the job has no such rank: start as many workers as the job has"},
    {static_cast<int>(ps_errc::wrong_size), failure::invalid_argument,
     "the size does not match the job's variables and tables: run the same model on every worker"},
    {static_cast<int>(ps_errc::no_such_task), failure::invalid_argument,
     "a placement strategy named a ps task that the job does not have: it must return a number below num_tasks"},
    {static_cast<int>(ps_errc::bad_job), failure::invalid_argument,
     "this server cannot use the job description: run one version of the program on all tasks"},
    {static_cast<int>(ps_errc::unknown_updater), failure::unsupported,
     "the parameter server does not have this updater: start the servers with updaters<...>"},
    {static_cast<int>(ps_errc::not_joined), failure::invalid_argument,
     "a call before Join: call Join first on every new connection"},
    {static_cast<int>(ps_errc::too_large), failure::exhausted,
     "the job needs more memory than this parameter server may take: use more servers, or raise the limit"},
    {static_cast<int>(ps_errc::rank_lost), failure::unavailable,
     "a worker is lost permanently: find out why, then start the job again"},
    {static_cast<int>(ps_errc::not_a_server), failure::invalid_argument,
     "only a task of job \"ps\" can serve: call join() in such tasks only"},
    {static_cast<int>(ps_errc::nobody_joined), failure::timeout,
     "no worker connected in time: look at the workers' logs, then start this task again"},
    {static_cast<int>(ps_errc::shape_mismatch), failure::invalid_argument,
     "a block of rows or a gradient has another size than what it is combined with: pass the number of rows times the "
     "elements of a row"},
    {static_cast<int>(ps_errc::bad_row_splits), failure::invalid_argument,
     "row_splits must ascend from 0 to the number of ids: pass the start of each row, and the number of ids at the "
     "end"},
    {static_cast<int>(ps_errc::bad_weights), failure::invalid_argument,
     "one weight for each id is needed, or none: pass as many weights as ids, or leave them out"},
    {static_cast<int>(ps_errc::no_such_row), failure::invalid_argument,
     "the table has no such row: look up only keys of the table"},
    {static_cast<int>(ps_errc::empty_row), failure::invalid_argument, "a row without ids needs the safe lookup"},
    {static_cast<int>(ps_errc::unknown_combiner), failure::invalid_argument,
     "combiner must be one of mean, sqrtn, sum"},
    {static_cast<int>(ps_errc::unsorted_keys), failure::invalid_argument,
     "the keys of a pull, a gradient or a cut must ascend, and each key may occur once"},
    {static_cast<int>(ps_errc::not_positive), failure::invalid_argument, "must be positive: pass a number above 0"},
    {static_cast<int>(ps_errc::too_few_tokens), failure::invalid_argument,
     "too few tokens to finish the first step: begin with at least replicas_to_aggregate - total_num_replicas"},
    {static_cast<int>(ps_errc::no_variables), failure::invalid_argument,
     "SyncReplicas needs at least one variable: pass the number of elements of each to set_variables"},
    {static_cast<int>(ps_errc::no_global_step), failure::invalid_argument,
     "a global step is needed to check staleness: pass the step to start from to set_variables"},
    {static_cast<int>(ps_errc::not_begun), failure::invalid_argument, "call set_variables and begin before this"},
    {static_cast<int>(ps_errc::budget_exceeded), failure::exhausted,
     "a table needs more memory than its budget has: give it max_rows, raise the budget, or use more servers"},
    {static_cast<int>(ps_errc::pull_too_large), failure::exhausted,
     "a pull asks for more rows than one answer may hold: ask for fewer keys at once, or raise max_pull_bytes"},
    {static_cast<int>(ps_errc::updates_every_row), failure::unsupported,
     "the updater of a table must not change rows that no gradient names: use LazyAdam"},
    {static_cast<int>(ps_errc::not_finite), failure::invalid_argument,
     "a gradient is not finite: NaN or infinity; look for a logarithm, a root, a division, or too high a learning "
     "rate"},
    {static_cast<int>(ps_errc::bad_initial_values), failure::mismatch,
     "custom initial values differ from the values that the job began with: initial_values() must return the same "
     "values at every call"},
    {static_cast<int>(ps_errc::not_in_checkpoint), failure::not_found,
     "the initial checkpoint lacks what the job begins with: map its names, or set allow_missing"},
    {static_cast<int>(ps_errc::directory_in_use), failure::unavailable,
     "the directory is in use: another process writes there; end that process, or use another directory"},
    {static_cast<int>(ps_errc::replicas_differ), failure::corrupt,
     "two replicas of a shard returned different values for one step: memory or a processor may be faulty; start "
     "again from a checkpoint"},
    {static_cast<int>(ps_errc::old_version), failure::unsupported,
     "a task of an older version cannot take part in a job whose settings were changed: start all tasks with one "
     "version"},
    {static_cast<int>(ps_errc::shard_too_large), failure::exhausted,
     "the dense values of a shard do not fit into one message: use more servers or shards, and cut large variables by "
     "a partitioner"},
    {static_cast<int>(ps_errc::unlike_arithmetic), failure::mismatch,
     "all workers of a synchronous job must compute alike: start them with the same build and settings"},
    {static_cast<int>(ps_errc::not_replayable), failure::unavailable,
     "contributions of batches of the program's own are lost: start all tasks again, they continue from the newest "
     "cut"},
    {static_cast<int>(ps_errc::shard_taken_over), failure::mismatch,
     "another process of this task has taken over its cuts: nothing is lost; end one of the two"},
    {static_cast<int>(ps_errc::other_ranks), failure::mismatch,
     "the tasks do not agree on --ranks: start all with the same --ranks, and with one version"},
    {static_cast<int>(ps_errc::no_sums), failure::unsupported,
     "the parameter server takes no sums of ranks: start all tasks with one version, or set ClusterMode::sum_ranks to "
     "false"},
    {static_cast<int>(ps_errc::shard_done), failure::unavailable,
     "the job is done, and this shard serves no worker any more: the last checkpoint has the result"},
    {static_cast<int>(ps_errc::ranks_differ), failure::corrupt,
     "contributions to one step state different ranks: a shard has lost its log of the ranks, or got an old one back"},
    {static_cast<int>(ps_errc::fixed_ranks), failure::unsupported,
     "the ranks of this job cannot change, or it has not begun: start it with most_ranks"},
    {static_cast<int>(ps_errc::ranks_too_soon), failure::invalid_argument,
     "that step may be under way already: ask for other ranks from a step after the horizon"},
    {static_cast<int>(ps_errc::bad_ranks), failure::invalid_argument,
     "these ranks cannot make steps of the job: name rank 0, each rank once, and all below most_ranks"},
    {static_cast<int>(ps_errc::too_many_changes), failure::exhausted,
     "the log of the ranks is full, or too many calls for other ranks wait: ask again later"},
    {static_cast<int>(ps_errc::too_many_onlookers), failure::exhausted,
     "the shard serves no more onlookers: end one that is not needed"},
    {static_cast<int>(ps_errc::bad_rate), failure::invalid_argument,
     "the learning rate of this job cannot be changed so: give a factor from 1e-4 to 1e4, or none with local steps and "
     "updaters without scales_rate"},
    {static_cast<int>(ps_errc::no_such_table), failure::invalid_argument,
     "the job has no such table: use the name of one of its tables"},
    {static_cast<int>(ps_errc::not_erasable), failure::unsupported,
     "these keys cannot be erased: the table must have any keys, and the job with_erasable_keys"},
    {static_cast<int>(ps_errc::too_many_erased), failure::exhausted,
     "too many keys are to be erased at once, or the log of erased keys is full: ask for fewer, or later"},
};

/// Returns the category "distrib.ps".
[[nodiscard]] inline auto ps_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.ps", ps_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(ps_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::ps_category()};
}

}  // namespace v0
}  // namespace distrib

template <>
struct std::is_error_code_enum<distrib::ps_errc> : std::true_type {};
