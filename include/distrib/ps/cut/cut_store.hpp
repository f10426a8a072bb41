// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/directories.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/keep_newest.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/merge_parts.hpp>
#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/detail/cut_files.hpp>
#include <distrib/ps/cut/detail/posix_files.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The durable cuts of one replica of a shard, in the directory that all shards of the job share.
///
/// Each shard writes its part of `model.ckpt-STEP` alone (`plan_part`). The shard that writes the last part of a step
/// that the user wants makes the checkpoint of it (`plan_merge`), removes older checkpoints, and then the part files. A
/// process may die at any point: `list` then finds the previous cut or the new one, and finishes or removes what was
/// left half done.
///
/// Of the checkpoints the two newest stay, whatever `max_to_keep` says, because workers may still send shards back to
/// the checkpoint before the newest. Which older checkpoints stay is decided for all shards by the store that makes a
/// checkpoint, from the times in the state file; each time was taken from the clock of the process that made that
/// checkpoint.
///
/// The second replica of a shard has its cuts in the same directory, as `replica-1.ckpt-STEP`. Parts of a checkpoint
/// that the first replicas lack are taken from there.
///
/// If `CutSettings::directory` is empty, the store keeps its cuts in memory; they are lost with the store.
///
/// `Perform`: called with a plan of file actions, it performs them in order, and throws if it cannot continue. Its
/// `now()` returns the time in seconds since 1970. The `Perform` of a test stops where the process shall die.
///
/// Errors: throws `std::system_error` that names the file or tensor.
///
/// Threads: one at a time. Blocks. Stores of other shards and replicas may work in the directory at the same time, in
/// other threads, processes or machines; each replica of a shard must have only one store.
template <class Perform = PosixFiles>
class CutStore {
 public:
  /// Makes the directory if it does not exist. Throws if it cannot be made or written to. `replica`: its number in the
  /// job, see `Job::num_replicas`.
  CutStore(CutSettings settings, const Job& job, std::uint32_t replica, JobUpdaters updaters, Perform perform = {})
      : settings_{std::move(settings)},
        tensors_{job, replica % job.shards(), std::move(updaters)},
        files_{settings_.directory, job, replica},
        last_step_{job.total_steps},
        is_synchronous_{job.consistency.is_synchronous()},
        perform_{std::move(perform)} {
    if (in_memory()) return;
    Error error;
    make_writable_directory(settings_.directory, error);
    throw_if(error);
  }

  /// Returns the cuts that the shard can continue from, steps ascending: the cuts that it has saved, and the
  /// checkpoints of this job, whatever parts and shards saved them. Reads this shard's share of each, so that they are
  /// known to be good. Of preserved checkpoints, which are old and may be many, only the index and the file sizes are
  /// checked if there are two newer cuts.
  ///
  /// Before that, finishes what a killed process left half done: makes the index of a checkpoint that lacks only its
  /// index (not while the disk is full), and removes files that no store needs.
  ///
  /// Adds to `refused` why a part or a checkpoint cannot be used: it is damaged or cannot be opened, or its parts do
  /// not fit together. Its cut is left out of the result, unless the part or the checkpoint of the same step can be
  /// used instead.
  ///
  /// Errors: throws `ps_errc::job_mismatch` with the first difference if there are cuts of another job, and the reason
  /// if a cut is not damaged and still cannot be read by this job.
  [[nodiscard]] auto list(std::vector<Error>& refused) -> std::vector<DurableCut> {
    std::vector<DurableCut> cuts;
    if (in_memory()) {
      for (const auto& [step, cut] : in_memory_) cuts.push_back({step, cut.lineage});
      return cuts;
    }
    const detail::FileLock lock{lock_file()};
    if_there_is_room([&] {
      if (files_.is_first()) merge_found(refused);
      Error error;
      for (const Found& found : scan(files_.series))
        if (files_.replicated && found.own_part) merge_if_whole(found.step, error);
    });
    Error unreadable;
    const auto told = list_checkpoints(settings_.directory, unreadable);
    const auto is_preserved = [&](const Found& found) {
      const auto at = find_prefix(told, found.prefix);
      return at != told.end() && at->preserved;
    };
    const auto look_at = [&](const Found& found, bool all) {
      if (auto lineage = usable(found, all, refused)) cuts.push_back({found.step, *std::move(lineage)});
      // left by a save that was killed, or by the removal of the part
      if (found.own_data && !found.own_part && !detail::path_exists(index_file_name(found.prefix)))
        perform_(FilePlan{FileAction::remove(files_.own_data(found.prefix))});
    };
    const std::vector<Found> list = scan(files_.series);
    for (const Found& found : list)
      if (!is_preserved(found)) look_at(found, true);
    for (std::size_t i = list.size(); i-- > 0;) {
      const auto is_newer = [&](const DurableCut& cut) { return cut.step > list[i].step; };
      if (is_preserved(list[i])) look_at(list[i], std::count_if(cuts.begin(), cuts.end(), is_newer) < 2);
    }
    std::sort(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    return cuts;
  }

  /// Returns the shard's cut of `step`, which must be in its list: from the shard's own part, or from the checkpoint of
  /// that step if the part is missing, damaged or of other parts of the variables.
  ///
  /// Errors: throws as `BundleReader::open_part`, `BundleReader::open` and `CutTensors::read`;
  /// `checkpoint_errc::not_found` if a store in memory has no such cut.
  [[nodiscard]] auto read(Step step) const -> Cut {
    if (in_memory()) {
      const auto at = in_memory_.find(step);
      if (at == in_memory_.end()) throw_error(checkpoint_errc::not_found, "cut " + std::to_string(step) + " in memory");
      return at->second;
    }
    const std::string prefix = files_.prefix_of(step);
    Error error;
    const auto part = BundleReader::open_part(prefix, files_.shard, files_.shards, error);
    if (part && tensors_.fits(*part)) {
      Cut cut = tensors_.read(*part, error);
      if (!error) return cut;
    }
    if (error && !detail::path_exists(index_file_name(prefix))) throw_if(error);
    return tensors_.read(BundleReader::open(prefix));
  }

  /// Saves a cut: it is durable on return. If this was the last missing part of a checkpoint that the user wants, makes
  /// the checkpoint and returns its prefix; otherwise returns an empty text.
  ///
  /// Also removes older cuts of the shard that are never dropped: its parts of wanted steps that the other shards did
  /// not complete, when a newer checkpoint is complete; and of an asynchronous shard, which drops no cuts, all but the
  /// two newest cuts and the user's checkpoints.
  ///
  /// Errors: `checkpoint_errc::no_room` if the disk is full; the same cut or a newer one may be saved later. If only
  /// the index finds no disk space, this is an error for the last step of the job alone; the index of another step is
  /// made by a later call.
  ///
  /// Memory: the rows of the tables once more, see `TableTensors::add_to`.
  auto save(const Cut& cut) -> std::string {
    if (in_memory()) {
      in_memory_[cut.step] = cut;
      if (!is_synchronous_ && in_memory_.size() > 2) in_memory_.erase(in_memory_.begin());
      return {};
    }
    const std::string prefix = files_.prefix_of(cut.step);
    BundlePart part = tensors_.part(cut);
    tensors_.describe(cut, part);
    Error error;
    BundleIndex merged;
    const bool is_merged = detail::read_index_file(index_file_name(prefix), merged, error);
    const FilePlan plan = plan_part(prefix, part, files_.shard, files_.shards, is_merged ? &merged : nullptr, error);
    throw_if(error);
    perform_(plan);

    const detail::FileLock lock{lock_file()};
    bool last = false;
    const auto merge_it = [&] {
      last = merge_if_whole(cut.step, error);
      if (error.code == failure::io) throw_if(error);
    };
    // The cut is durable without an index, which a later start makes. But of the last step workers rely on the index.
    if (cut.step == last_step_) merge_it();
    else if_there_is_room(merge_it);
    let_older_go(cut.step);
    return last ? files_.users_prefix(cut.step) : std::string{};
  }

  /// Removes the cut of `step`, which the protocol no longer needs. A part of a step that the user wants stays if this
  /// is the first replica of the shard: as part of a checkpoint until that is beyond `max_to_keep`, or while it waits
  /// for the parts of the other shards. `unneeded`: the other shards will never make these parts, so do not wait. Does
  /// nothing if there is no such cut.
  void drop(Step step, bool unneeded = false) {
    if (in_memory()) {
      in_memory_.erase(step);
      return;
    }
    const detail::FileLock lock{lock_file()};
    const bool may_go = unneeded || !is_users(step) || !files_.is_first();
    if (may_go && detail::path_exists(files_.own_part(files_.prefix_of(step)))) let_go(step);
  }

  /// Removes the shard's cuts that the user does not want; of a second replica, all its cuts. Called when the job is
  /// done; does nothing if the checkpoint of its last step is not complete.
  void finish() {
    if (in_memory() || !files_.has_index(last_step_)) return;
    const detail::FileLock lock{lock_file()};
    for (const Found& found : scan(files_.series))
      if (found.own_part && (!is_users(found.step) || !files_.is_first())) let_go(found.step);
  }

 private:
  using Found = detail::FoundCut;

  auto in_memory() const -> bool { return settings_.directory.empty(); }
  // Only one store at a time merges and removes, if the file system has locks. Without locks the stores do no harm to
  // each other either, except that a store may remove a checkpoint that another store has just made.
  auto lock_file() const -> std::string { return detail::join_path(settings_.directory, ".saving.lock"); }
  auto writer() const -> std::string { return detail::shard_of_shards(files_.shard, files_.shards); }

  auto is_users(Step step) const -> bool { return settings_.is_users(step, last_step_); }

  // Work that need not be done now is skipped if the disk is full.
  static void if_there_is_room(const auto& work) try { work(); } catch (const std::system_error& error) {
    if (error.code() != checkpoint_errc::no_room) throw;
  }

  static auto find_prefix(const std::vector<SavedCheckpoint>& list, const std::string& prefix) {
    return std::find_if(list.begin(), list.end(), [&](const auto& checkpoint) { return checkpoint.prefix == prefix; });
  }

  auto scan(std::string_view series = detail::CutFiles::users) const -> std::vector<Found> {
    Error error;
    auto found = detail::find_cuts(settings_.directory, series, files_.shard, files_.shards, error);
    throw_if(error);
    return found;
  }

  // --- reading ---

  // Returns the lineage of a cut if the shard can continue from it. `all`: reads the values too, to verify them.
  auto usable(const Found& found, bool all, std::vector<Error>& refused) const -> std::optional<Lineage> {
    Error error;
    if (found.own_part) {
      const auto part = BundleReader::open_part(found.prefix, files_.shard, files_.shards, error);
      if (!part) refused.push_back(error);
      if (part && tensors_.fits(*part))
        if (auto lineage = readable(*part, all, refused)) return lineage;
    }
    if (!found.has_index) return std::nullopt;
    const auto merged = BundleReader::open(found.prefix, error);
    if (!merged) refused.push_back(error);
    return merged ? readable(*merged, all, refused) : std::nullopt;
  }

  auto readable(const BundleReader& reader, bool all, std::vector<Error>& refused) const -> std::optional<Lineage> {
    Error error;
    tensors_.check_job(reader, error);
    Lineage lineage = error ? Lineage{} : tensors_.lineage(reader, error);
    if (!error && all) static_cast<void>(tensors_.read(reader, error));
    if (!error) return lineage;
    if (error.code != failure::corrupt) throw_if(error);
    refused.push_back(error);
    return std::nullopt;
  }

  // --- merging ---

  // At a start: makes the checkpoints that the user wants, and a checkpoint of the newest other step whose parts are
  // complete, so that another number of shards can continue from it.
  void merge_found(std::vector<Error>& refused) {
    const std::vector<Found> list = scan();
    for (const Found& found : list) {
      settle(found);
      if (is_users(found.step) && !found.has_index) merge_some(found, refused);
    }
    for (std::size_t i = list.size(); i-- > 0;) {
      if (list[i].complete.empty()) continue;
      if (files_.has_index(list[i].step)) return;
      if (!is_users(list[i].step) && merge_some(list[i], refused)) return;
    }
  }

  // Tries each number of shards whose parts are all there, until one makes a checkpoint.
  auto merge_some(const Found& found, std::vector<Error>& refused) -> bool {
    for (const std::uint32_t shards : found.complete) {
      Error error;
      if (merge(found.step, shards, error)) return true;
      refused.push_back(error);
    }
    return false;
  }

  // Makes the index of `step` if the user wants it and all its parts are there. Second replicas may still have parts of
  // checkpoints that were removed, so their parts count only if no checkpoint of this step or a later one exists.
  // Returns true if it made the index.
  auto merge_if_whole(Step step, Error& error) -> bool {
    if (!is_users(step)) return false;
    if (files_.is_first() && files_.has_all_parts(step, false)) return merge(step, files_.shards, error);
    const std::vector<Found> list = scan();
    const auto is_let_go = [step](const Found& found) { return found.has_index && found.step >= step; };
    if (files_.replicated && files_.has_all_parts(step, true) && std::ranges::none_of(list, is_let_go))
      return merge(step, files_.shards, error);
    for (const Found& found : list)
      if (found.step == step) settle(found);
    return false;
  }

  // Finishes the work of a store that made the index of a wanted step and was killed or found no disk space after it.
  void settle(const Found& found) const {
    if (found.has_index && is_users(found.step) && !found.part_files.empty()) perform_(plan_settled(found));
  }

  // Makes the index of a step if the parts of all `shards` are there. Returns false if that is not possible; `error`
  // says why.
  auto merge(Step step, std::uint32_t shards, Error& error) -> bool {
    const std::string prefix = files_.users_prefix(step);
    for (std::uint32_t shard = 0; shard < shards && shards == files_.shards; ++shard)
      if (!files_.has_part(detail::CutFiles::users, step, shard))
        perform_(
            detail::plan_shared_part(files_.prefix_of(detail::CutFiles::second_replicas, step), prefix, shard, shards));
    const std::vector<BundleIndex> parts = read_parts(prefix, shards, error);
    if (!error && !CutTensors::are_of_one_history(parts))
      error = {
          checkpoint_errc::mismatch,
          prefix +
              ": its parts are of different histories: only some were saved after the job's settings were changed"};
    if (error) return false;
    const auto first = BundleReader::open_part(prefix, 0, shards, error);
    if (error) return false;
    tensors_.check_job(*first, error);
    if (error) {
      if (error.code != failure::corrupt) throw_if(error);
      return false;
    }
    FilePlan plan = plan_merge(prefix, parts, writer(), error);
    if (error) return false;
    if (is_users(step)) {
      Found found;
      found.step = step;
      for (std::uint32_t shard = 0; shard < shards; ++shard)
        found.part_files.push_back(part_file_name(prefix, shard, shards));
      append(plan, plan_settled(found));
    }
    perform_(plan);
    return true;
  }

  // Plans what follows when a wanted checkpoint has its index. Names the newest checkpoint in the state file; that is
  // not `checkpoint` if the index of `checkpoint` found no disk space earlier. Removes older checkpoints, but not the
  // checkpoint before the newest, to which workers may still send shards back. Removes the part files, which nothing
  // needs any more.
  auto plan_settled(const Found& checkpoint) const -> FilePlan {
    const std::vector<SavedCheckpoint> saved = checkpoints(checkpoint.step);
    const std::string newest = detail::relative_path(
        saved.empty() ? files_.users_prefix(checkpoint.step) : saved.back().prefix, settings_.directory);
    FilePlan plan = plan_keep_newest(settings_.directory, newest, saved, settings_.retention.with_at_least(2), writer(),
                                     {perform_.now(), detail::last_preserved(settings_.directory)});
    append(plan, plan_leftovers(checkpoint.step, saved));
    for (const std::string& file : checkpoint.part_files) plan.push_back(FileAction::remove(file));
    plan.push_back(FileAction::sync_directory(settings_.directory));
    return plan;
  }

  // Returns the checkpoints of the directory, as the state file should name them: first the checkpoints with other
  // names that the state file names now; then the user's checkpoints whose files exist, whatever the state file names,
  // because the store that wrote it may have been killed before it had removed the others. The last one is the newest.
  // Includes `merged`, whose index may still have to be written.
  auto checkpoints(Step merged) const -> std::vector<SavedCheckpoint> {
    Error unreadable;  // a damaged state file is replaced by a good one
    const auto told = list_checkpoints(settings_.directory, unreadable);
    std::vector<SavedCheckpoint> saved;
    std::copy_if(told.begin(), told.end(), std::back_inserter(saved), [&](const SavedCheckpoint& other) {
      const auto step = checkpoint_step(other.prefix);
      return !step || other.prefix != files_.users_prefix(static_cast<Step>(*step));
    });
    for (Found& found : scan()) {
      // merged at a start, and not wanted by the user
      const bool for_a_start = !is_users(found.step) && !found.part_files.empty();
      if (found.step != merged && (!found.has_index || for_a_start)) continue;
      const auto at = find_prefix(told, found.prefix);
      SavedCheckpoint& own = saved.emplace_back(at != told.end() ? *at : SavedCheckpoint{found.prefix, {}});
      own.files = std::move(found.files);
      if (at == told.end()) own.timestamp = found.has_index ? detail::index_seconds(own) : perform_.now();
      if (!found.has_index) own.files.insert(own.files.begin(), index_file_name(own.prefix));
    }
    return saved;
  }

  // Plans the removal of files that only another number of shards could use, if their step is below that of the
  // checkpoint before `step`.
  auto plan_leftovers(Step step, const std::vector<SavedCheckpoint>& saved) const -> FilePlan {
    const std::vector<Found> list = scan();
    const auto is_saved = [&](const Found& found) { return find_prefix(saved, found.prefix) != saved.end(); };
    Step before = 0;
    for (const Found& found : list)
      if (found.step < step && is_saved(found)) before = found.step;
    FilePlan plan;
    for (const Found& found : list) {
      const bool ours = std::any_of(found.files.begin(), found.files.end(), [&](const std::string& file) {
        const auto shard_file = detail::parse_shard_file(file);
        return shard_file && shard_file->shards == files_.shards;
      });
      if (found.step >= before || ours || is_saved(found)) continue;
      for (const std::string& file : found.files) plan.push_back(FileAction::remove(file));
    }
    return plan;
  }

  // --- removing ---

  // Removes the shard's own cuts before step `saved` that the protocol does not drop: see `save`.
  void let_older_go(Step saved) {
    Step newest_users = 0;  // the newest one that has its index
    std::vector<Step> own;
    for (const Found& found : scan(files_.series)) {
      if (found.has_index && is_users(found.step)) newest_users = found.step;
      if (found.own_part && found.step < saved) own.push_back(found.step);
    }
    if (!is_synchronous_ && !own.empty()) own.pop_back();
    for (const Step step : own)
      if (!is_synchronous_ || (is_users(step) && step < newest_users)) if_there_is_room([&] { let_go(step); });
  }

  // Removes the shard's own part of a step; first the index, because other shards rely on the part while there is an
  // index. If all shards have their parts of a wanted step, makes the checkpoint instead: the store that wrote the last
  // part may still wait for the lock.
  void let_go(Step step) {
    const std::string prefix = files_.prefix_of(step);
    Error error;
    if (files_.is_first() && is_users(step) && (merge_if_whole(step, error) || files_.has_index(step))) return;
    perform_(FilePlan{FileAction::remove(index_file_name(prefix)), FileAction::sync_directory(settings_.directory),
                      FileAction::remove(files_.own_part(prefix)), FileAction::sync_directory(settings_.directory),
                      FileAction::remove(files_.own_data(prefix))});
  }

  CutSettings settings_;
  CutTensors tensors_;
  detail::CutFiles files_;
  Step last_step_;
  bool is_synchronous_;
  Perform perform_;
  std::map<Step, Cut> in_memory_;
};

#ifndef DISTRIB_HEADER_ONLY  // otherwise in its .ipp
extern template class CutStore<PosixFiles>;
#endif

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_store.ipp>
#endif
