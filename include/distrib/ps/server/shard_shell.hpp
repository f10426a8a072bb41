// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// What a shard's service tells its shell; none of these may call the service back from inside.
class ShardShell {
 public:
  virtual ~ShardShell() = default;

  /// The job is known. Find the cuts of this replica of a shard, then tell `opened` or `not_opened`.
  virtual void open(const Job& job, std::uint32_t replica, const CutSettings& cuts, const JobUpdaters& updaters) = 0;
  virtual void copy() = 0;               ///< Then `copy_cut`, when other events have had their turn.
  virtual void save(SaveCut action) = 0;  ///< Then `cut_saved` or `save_failed`.
  virtual void load(Step step) = 0;      ///< Then `cut_loaded` or `load_failed`.
  virtual void drop(DropCut action) = 0;  ///< The protocol has no more use for this cut.
  /// Ask the other replica for a cut that is newer than `have`, of the job with this hash; then `state_came`.
  virtual void ask_sibling(const std::string& job_hash, Step have) = 0;
  virtual void send(SendState action) = 0;  ///< Read the cut, then `state_read`.

  /// Somebody joined for a rank that is here already: a second process of it, or the first one before its old connection
  /// was given up. Either does no harm.
  virtual void joined_twice(Rank rank) = 0;

  /// The shard is over, by the protocol's exit code: 0 done, 1 to be tried again, 65 a call of a rank was refused, 70 a
  /// rank was lost for good, 74 a cut could not be written or read. Told once, and nothing follows; what was answered
  /// is still to be written.
  virtual void ended(int code, const Error& why) = 0;
};

}  // namespace v0
}  // namespace distrib
