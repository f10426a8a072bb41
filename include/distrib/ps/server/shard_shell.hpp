// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// What a shard's service asks of its shell. No member may call the service.
class ShardShell {
 public:
  virtual ~ShardShell() = default;

  /// The job is known. Find the cuts of this replica of a shard, then call `opened` or `not_opened`.
  virtual void open(const Job& job, std::uint32_t replica, const CutSettings& cuts, const JobUpdaters& updaters) = 0;
  virtual void copy() = 0;  ///< Call `copy_cut` after the events that are waiting.
  virtual void save(SaveCut action) = 0;  ///< Make this cut durable, then call `cut_saved` or `save_failed`.
  /// Make the log of the ranks durable in place of the one before, then call `ranks_saved` or `ranks_not_saved`.
  virtual void save_ranks(RankFile file) = 0;
  virtual void load(Step step) = 0;  ///< Read this cut, then call `cut_loaded` or `load_failed`.
  virtual void drop(DropCut action) = 0;  ///< The protocol no longer needs this cut. Nothing to call.
  /// Ask the other replica for a cut that is newer than `have`, of the job with this hash. Then call `state_came`.
  virtual void ask_sibling(const std::string& job_hash, Step have) = 0;
  virtual void send(SendState action) = 0;  ///< Read the cut, then call `state_read`.

  /// Another connection of a joined rank has joined: a second process of the rank, or the first process before its old
  /// connection was given up. Neither does harm.
  virtual void joined_twice(Rank rank) = 0;
  /// A rank is lost permanently, and the job goes on without it, because it has backup workers. The rank is taken again
  /// if it comes back.
  virtual void goes_on_without(Rank rank) = 0;
  /// A worker of an asynchronous job has joined that computes with another arithmetic than the worker that brought the
  /// job. `text`: one sentence with both.
  virtual void joined_unlike(const std::string& text) = 0;
  /// Other ranks were asked for. `text`: one sentence that says who asked, for which ones, and what became of it.
  virtual void asked_for_ranks(const std::string& text) = 0;
  /// Keys were to be erased. `text`: one sentence that says who asked, the table, the number of keys, and what became of
  /// them; it has none of the keys.
  virtual void asked_to_erase(const std::string& text) = 0;
  /// The job is done, and the shard ends although its last export could not be written.
  virtual void last_export_missing() = 0;

  /// The shard is over, with an exit code: 0 done, 1 to be started again, 65 a call of a rank was refused, 70 a rank is
  /// lost permanently, 74 a cut could not be written or read, or a loaded state needs more memory than there is. Called
  /// once, and nothing follows. What was answered must still be written.
  virtual void ended(int code, const Error& why) = 0;
};

}  // namespace v0
}  // namespace distrib
