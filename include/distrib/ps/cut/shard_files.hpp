// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/cut/initial_checkpoint.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The replica that has the cuts, and where they are.
struct CutOwner {
  Job job;
  std::uint32_t replica = 0;
  CutSettings settings;
  JobUpdaters updaters;
};

/// A piece of work with the cuts of one shard: what is to be done, and afterwards the result. `StoredCuts` performs it.
struct CutWork {
  enum class Kind {
    open,  ///< Find the cuts of `owner`. Result: `cuts` and `refused`.
    start,  ///< Read the cut that the shard starts with. Result: `cut`.
    load,  ///< Read the cut that a worker sent the shard to. Result: `cut`.
    send,  ///< Read the cut that the other replica asked for. Result: `cut`.
    save,  ///< Make `save` durable.
    drop,  ///< Remove the cut of `step`: see `CutStore::drop`.
    finish,  ///< The job is done: remove the cuts that the user does not want.
    look,  ///< Has another process taken over the shard? Only in an object store.
    save_ranks,  ///< Make `ranks` durable, in place of what was there. Only of a job whose ranks change.
  };
  Kind kind{};
  Step step = 0;  ///< The step of the cut; not for open and finish.
  bool is_initial = false;  ///< For start and load: make the cut of the job's initial values, see `initial_cut`.
  bool unneeded = false;  ///< For drop: see `DropCut`.
  Peer peer = 0;  ///< For send: the peer that asked.
  std::optional<CutOwner> owner = std::nullopt;  ///< For open.
  SaveCut save = {};  ///< For save.
  std::optional<RankFile> ranks = std::nullopt;  ///< For save_ranks; and the result of open, empty if there is none.

  std::vector<DurableCut> cuts = {};  ///< The good cuts, steps ascending.
  std::vector<Error> refused = {};  ///< Why other cuts or files cannot be used: see `CutStore::list`.
  Cut cut = {};  ///< The cut that was read.
  std::vector<std::string> missing = {};  ///< For initial values: see `InitialCheckpoint::missing`.
  Error failure = {};  ///< Why it could not be done; no error: it is done.
};

/// End the task at once, with this exit code: see `ShardShell::ended`. Workers get no message.
struct EndTask {
  int code = 0;
  Error why;
};

/// Decides what one shard does with its cuts: which cut it starts with, what follows if a cut cannot be read or
/// written, and which events the observer gets. Performs nothing itself.
///
/// Its events are the requests of a `ShardService` to its shell, and the results of each piece of work. Its actions are
/// calls `out(action)`: `CutWork`, which the shell performs in the order of the calls, one at a time, and then passes
/// to `performed`; `EndTask`; and an `Event` for the observer, to which the shell adds the name of the task. Passes
/// results on to `service`: any type with the members of `ShardService`. No clock, no I/O, no thread.
///
/// Threads: one at a time.
class ShardFiles {
 public:
  /// `directory`: where the cuts are, whatever the job says; empty: where the job says.
  explicit ShardFiles(std::string directory = {}) : directory_{std::move(directory)} {}

  // --- requests of the service: see `ShardShell` ---

  /// Looks for the cuts of the shard. `ShardService::opened` or `not_opened` follows, or `EndTask` if another process
  /// uses the directory.
  void open(const Job& job, std::uint32_t replica, CutSettings cuts, const JobUpdaters& updaters, auto& out) {
    if (!directory_.empty()) cuts.directory = directory_;
    initial_checkpoint_ = job.initial_checkpoint;
    CutWork work{CutWork::Kind::open};
    work.owner = CutOwner{job, replica, std::move(cuts), updaters};
    out(std::move(work));
  }

  /// Saves a cut. `ShardService::cut_saved` or `save_failed` follows; or `EndTask`, as after any other work, if another
  /// process has taken over the shard: `ps_errc::shard_taken_over`.
  void save(SaveCut action, auto& out) {
    CutWork work{CutWork::Kind::save, action.cut.step};
    work.save = std::move(action);
    out(std::move(work));
  }

  /// Saves the log of the ranks. `ShardService::ranks_saved` or `ranks_not_saved` follows.
  void save_ranks(RankFile file, auto& out) {
    CutWork work{CutWork::Kind::save_ranks};
    work.ranks = std::move(file);
    out(std::move(work));
  }

  /// Reads the cut of `step`. `ShardService::cut_loaded` or `load_failed` follows. Cut 0 is made again: it is in every
  /// list, but in no file.
  void load(Step step, auto& out) { out(CutWork{CutWork::Kind::load, step, step == 0}); }

  /// Removes a cut. Nothing follows, also if it cannot be removed: then the next start finds it again.
  void drop(DropCut action, auto& out) { out(CutWork{CutWork::Kind::drop, action.step, false, action.unneeded}); }

  /// Reads a cut for the other replica. `ShardService::state_read` follows, with null if the cut cannot be read.
  void send(SendState action, auto& out) { out(CutWork{CutWork::Kind::send, action.step, false, false, action.peer}); }

  // --- the end ---

  /// Removes the cuts that the user does not want: the job is done, and so is the task. Nothing follows.
  void finish(auto& out) { out(CutWork{CutWork::Kind::finish}); }

  /// Looks whether another process has taken over the shard, as one may in an object store. `EndTask` follows if so,
  /// otherwise nothing.
  void look(auto& out) { out(CutWork{CutWork::Kind::look}); }

  // --- the results of this work ---

  /// Passes the state that `StateFetchCore` has fetched to the service. Empty: there is none.
  void state_came(const std::optional<Cut>& cut, auto& service, Instant now, auto& out) {
    if (cut)
      out(event(Event::Kind::restored,
                "going on from the state of its other replica, step " + std::to_string(cut->step)));
    service.state_came(cut ? &*cut : nullptr, now);
  }

  /// Takes a piece of work that was performed, and passes its result to the service or continues with the next piece.
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    // Nothing may be told any more. Workers will reach the other process.
    if (work.failure.code == ps_errc::shard_taken_over && work.kind != CutWork::Kind::finish)
      return out(EndTask{exit_code::again, work.failure});
    switch (work.kind) {
      case CutWork::Kind::open: return found(std::move(work), service, now, out);
      case CutWork::Kind::start: return started(work, service, now, out);
      case CutWork::Kind::load: return loaded(work, service, now, out);
      case CutWork::Kind::send: return service.state_read(work.peer, work.failure ? nullptr : &work.cut);
      case CutWork::Kind::save: return saved(std::move(work), service, now, out);
      case CutWork::Kind::save_ranks:
        return work.failure ? service.ranks_not_saved(work.failure, now) : service.ranks_saved(now);
      case CutWork::Kind::drop:
      case CutWork::Kind::finish:  // what could not be removed is found again by the next start
      case CutWork::Kind::look: return;
    }
  }

 private:
  void found(CutWork work, auto& service, Instant now, auto& out) {
    // No refusal for the workers: they will reach the other process, or this task when it is started again.
    if (work.failure.code == ps_errc::directory_in_use) return out(EndTask{exit_code::refused, work.failure});
    if (work.failure) return service.not_opened(work.failure);
    // Training from step 0 would overwrite cuts that the user may still repair.
    if (work.cuts.empty() && !work.refused.empty()) return service.not_opened(work.refused.front());
    ranks_ = std::move(work.ranks);
    cuts_ = std::move(work.cuts);
    refused_ = std::move(work.refused);
    if (!cuts_.empty()) return out(CutWork{CutWork::Kind::start, cuts_.back().step});
    if (!initial_checkpoint_.empty()) return out(CutWork{CutWork::Kind::start, 0, true});
    start(nullptr, service, now);
  }

  void started(const CutWork& work, auto& service, Instant now, auto& out) {
    if (work.failure) return not_started(work, service, out);
    for (const Error& error : refused_) {
      const std::string what = error.code == failure::corrupt ? "a damaged cut" : "a cut";
      out(event(Event::Kind::checkpoint_refused,
                "passed over " + what + ": " + error.where + ": " + error.code.message()));
    }
    out(event(Event::Kind::restored, work.is_initial
                                         ? beginning_with(initial_checkpoint_, work.missing)
                                         : "going on from its cut of step " + std::to_string(work.cut.step)));
    start(&work.cut, service, now);
  }

  // The cut was good when it was found. If it was damaged since, passes over it.
  void not_started(const CutWork& work, auto& service, auto& out) {
    if (work.is_initial || work.failure.code != failure::corrupt || cuts_.size() == 1)
      return service.not_opened(work.failure);
    refused_.push_back(work.failure);
    cuts_.pop_back();
    out(CutWork{CutWork::Kind::start, cuts_.back().step});
  }

  void start(const Cut* newest, auto& service, Instant now) {
    try {
      service.opened(std::move(cuts_), newest, now, std::exchange(ranks_, std::nullopt));
    } catch (const std::system_error& error) {  // tables that need more memory than there is
      service.not_opened(error_of(error));
    }
  }

  void loaded(const CutWork& work, auto& service, Instant now, auto& out) {
    const std::string cut = "its cut of step " + std::to_string(work.step);
    if (work.failure) {
      out(event(Event::Kind::checkpoint_refused,
                "cannot go to " + cut + ": " + work.failure.where + ": " + work.failure.code.message()));
      return service.load_failed(work.failure, now);
    }
    out(event(Event::Kind::restored, "went to " + cut + ", as a worker asked: later steps are computed or sent again"));
    try {
      service.cut_loaded(work.cut, now);
    } catch (const std::system_error& error) {  // as in `start`
      service.load_failed(error_of(error), now);
    }
  }

  void saved(CutWork work, auto& service, Instant now, auto& out) {
    work.save = {};  // here, so that the memory of the blocks returns to the shard's thread
    work.cut = {};
    if (!work.failure) return service.cut_saved(work.step, now);
    if (work.failure.code == checkpoint_errc::no_room)
      out(event(Event::Kind::no_room, "no room for the cut of step " + std::to_string(work.step) + ", " +
                                          work.failure.where + "; free space on this disk, the shard tries again"));
    service.save_failed(work.failure, now);
  }

  static auto event(Event::Kind kind, std::string text) -> Event { return {kind, {}, {}, {}, std::move(text)}; }

  std::string directory_;
  std::string initial_checkpoint_;
  std::vector<DurableCut> cuts_;  // the good cuts, until the shard has started
  std::optional<RankFile> ranks_;  // the log of the ranks, until then
  std::vector<Error> refused_;  // why others cannot be used
};

}  // namespace v0
}  // namespace distrib
