// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
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
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
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
/// A link (`Cut::base`) is in files of its own, `link-on-ROOT-STEP`, where ROOT is the step of the whole cut at the end
/// of its chain. So names alone say which cuts a link may stand on: those of this replica from ROOT on that are older.
/// No cut is removed while there is a link that may stand on it, and no checkpoint while a link of any shard may.
/// A link whose base cannot be used, or is of another history, cannot be used.
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
    list_links(cuts, refused);
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
    if (!detail::path_exists(index_file_name(prefix))) {
      Error no_link;
      if (auto cut = read_chain(step, no_link)) return *std::move(cut);
      throw_if(no_link);
      throw_if(error);
    }
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
  /// A link must stand on a cut of the list, or that was saved since. It is saved whole if there is a whole cut of its
  /// step, which is of another history then.
  ///
  /// Memory: the rows of the tables once more, see `TableTensors::add_to`.
  auto save(const Cut& cut) -> std::string {
    if (cut.base && (in_memory() || has_whole(cut.step))) return save(tensors_.with_links(read(*cut.base), {&cut, 1}));
    dropped_.erase(cut.step);
    if (cut.base) return save_link(cut);
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
    remove_links([&](const detail::FoundLink& link) { return link.step == cut.step; });
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
    if (!may_go) return;
    dropped_.insert(step);
    let_dropped_go();
  }

  /// Removes the shard's cuts that the user does not want; of a second replica, all its cuts. Called when the job is
  /// done; does nothing if the checkpoint of its last step is not complete.
  void finish() {
    if (in_memory() || !files_.has_index(last_step_)) return;
    const detail::FileLock lock{lock_file()};
    const bool had_links = remove_links([](const detail::FoundLink&) { return true; });
    for (const Found& found : scan(files_.series))
      if (found.own_part && (!is_users(found.step) || !files_.is_first())) let_go(found.step);
    if (!had_links || !files_.is_first()) return;
    Found last;
    last.step = last_step_;
    perform_(plan_settled(last));  // removes the checkpoints that stayed because of links
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

  // --- links ---

  auto all_links() const -> std::vector<detail::FoundLink> {
    Error error;
    auto links = detail::find_links(settings_.directory, error);
    throw_if(error);
    return links;
  }
  auto own_links() const -> std::vector<detail::FoundLink> {
    auto links = all_links();
    std::erase_if(links, [this](const detail::FoundLink& link) {
      return link.is_first != files_.is_first() || link.shard != files_.shard || link.shards != files_.shards;
    });
    return links;
  }
  auto has_whole(Step step) const -> bool {
    const std::string prefix = files_.prefix_of(step);
    return detail::path_exists(files_.own_part(prefix)) || detail::path_exists(index_file_name(prefix));
  }

  // Removes those of the shard's own links for which goes(link) is true, the newest first. Returns true if there were
  // any.
  auto remove_links(const auto& goes) -> bool {
    auto links = own_links();
    std::erase_if(links, [&](const detail::FoundLink& link) { return !goes(link); });
    for (auto link = links.rbegin(); link != links.rend(); ++link)
      perform_(FilePlan{FileAction::remove(files_.own_part(link->prefix)),
                        FileAction::sync_directory(settings_.directory),
                        FileAction::remove(files_.own_data(link->prefix))});
    return !links.empty();
  }

  auto save_link(const Cut& cut) -> std::string {
    const auto links = own_links();
    const auto is_base = [&](const detail::FoundLink& link) { return link.part && link.step == *cut.base; };
    const auto base = std::find_if(links.begin(), links.end(), is_base);
    Step root = *cut.base;
    if (!has_whole(root)) {
      if (base == links.end())
        throw_error(checkpoint_errc::not_found, files_.prefix_of(root) + ", which a cut stands on");
      root = base->root;
    }
    const std::string prefix = files_.link_prefix(root, cut.step);
    BundlePart part = tensors_.part(cut);
    tensors_.describe(cut, part);
    Error error;
    const FilePlan plan = plan_part(prefix, part, files_.shard, files_.shards, nullptr, error);
    throw_if(error);
    perform_(plan);
    good_links_.insert(cut.step);

    const detail::FileLock lock{lock_file()};
    remove_links([&](const detail::FoundLink& link) { return link.step == cut.step && link.root != root; });
    let_older_go(cut.step);
    return {};
  }

  // Adds the links that can be used to `cuts`, which are the whole ones. Removes what a killed save has left.
  void list_links(std::vector<DurableCut>& cuts, std::vector<Error>& refused) {
    good_links_.clear();
    std::error_code unreadable;
    for (const std::string& file : detail::list_directory(settings_.directory, unreadable))
      if (file.starts_with(".saving." + std::string{files_.link_series()} + "-on-") && file.ends_with(writer()))
        perform_(FilePlan{FileAction::remove(detail::join_path(settings_.directory, file))});
    const auto find = [&](Step step) {
      return std::find_if(cuts.begin(), cuts.end(), [&](const DurableCut& cut) { return cut.step == step; });
    };
    for (const detail::FoundLink& link : own_links()) {  // steps ascend, so bases come first
      if (!link.part) perform_(FilePlan{FileAction::remove(files_.own_data(link.prefix))});
      if (!link.part || find(link.step) != cuts.end()) continue;
      Error error;
      const auto part = BundleReader::open_part(link.prefix, files_.shard, files_.shards, error);
      if (!part) refused.push_back(error);
      if (!part || !tensors_.fits_link(*part)) continue;
      tensors_.check_job(*part, error);
      if (error && error.code != failure::corrupt) throw_if(error);
      const Cut cut = error ? Cut{} : tensors_.read_link(*part, error);
      if (error) {
        if (error.code == failure::io) throw_if(error);
        refused.push_back(error);
        continue;
      }
      const auto base = find(*cut.base);
      if (base == cuts.end() || base->lineage != cut.lineage.until(base->step)) {
        refused.push_back(without_base(link, *cut.base));
        continue;
      }
      good_links_.insert(cut.step);
      const auto after = std::find_if(cuts.begin(), cuts.end(), [&](const auto& one) { return one.step > cut.step; });
      cuts.insert(after, DurableCut{cut.step, cut.lineage});
    }
  }

  static auto without_base(const detail::FoundLink& link, Step base) -> Error {
    return {checkpoint_errc::corrupt_data,
            link.prefix + ": the cut of step " + std::to_string(base) + " that it stands on is damaged or missing"};
  }

  // Returns the cut of a link: from the whole cut under it, and all links between. If that is not possible, returns
  // nothing and sets `error`, unless there is no link of this step.
  auto read_chain(Step step, Error& error) const -> std::optional<Cut> {
    const auto own = own_links();
    for (auto link = own.rbegin(); link != own.rend(); ++link) {
      if (!link->part || link->step != step) continue;
      error = {};
      auto cut = read_chain(*link, own, error);
      if (!error) return cut;
    }
    return std::nullopt;
  }

  auto read_chain(const detail::FoundLink& last, std::span<const detail::FoundLink> own, Error& error) const -> Cut {
    std::vector<Cut> links;
    for (const detail::FoundLink* link = &last;;) {
      const auto part = BundleReader::open_part(link->prefix, files_.shard, files_.shards, error);
      if (!error) links.push_back(tensors_.read_link(*part, error));
      if (error) return {};
      const Step base = *links.back().base;
      if (has_whole(base)) break;
      const auto is_base = [&](const detail::FoundLink& other) { return other.part && other.step == base; };
      const auto next = std::find_if(own.begin(), own.end(), is_base);
      if (base >= link->step || next == own.end()) {
        error = without_base(*link, base);
        return {};
      }
      link = &*next;
    }
    std::reverse(links.begin(), links.end());
    const Cut whole = read(*links.front().base);
    const Cut* base = &whole;
    for (const Cut& link : links) {
      if (base->lineage != link.lineage.until(base->step)) error = without_base(last, base->step);
      base = &link;
    }
    return error ? Cut{} : tensors_.with_links(whole, links);
  }

  // True if one of the shard's own links may stand on its cut of `step`.
  static auto is_needed(Step step, std::span<const detail::FoundLink> links) -> bool {
    return std::ranges::any_of(links, [step](const detail::FoundLink& link) { return link.needs(step); });
  }

  // Removes the cuts that were dropped, as soon as no link stands on them; and links that were not good, if a newer cut
  // stands on none of them.
  void let_dropped_go() {
    auto links = own_links();
    std::set<Step, std::greater<>> steps{dropped_.begin(), dropped_.end()};
    for (const detail::FoundLink& link : links)
      if (!good_links_.contains(link.step) && !good_links_.empty() && link.step < *good_links_.begin())
        steps.insert(link.step);
    for (const Step step : steps) {  // descending, so that links go before what they stand on
      if (is_needed(step, links)) continue;
      const auto is_of = [step](const detail::FoundLink& link) { return link.step == step; };
      if (std::erase_if(links, is_of) != 0) remove_links(is_of);
      if (detail::path_exists(files_.own_part(files_.prefix_of(step)))) let_go(step);
      dropped_.erase(step);
      good_links_.erase(step);
    }
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
    keep_bases(plan);
    for (const std::string& file : checkpoint.part_files) plan.push_back(FileAction::remove(file));
    plan.push_back(FileAction::sync_directory(settings_.directory));
    return plan;
  }

  // Takes from a plan the removal of checkpoints that a link of any shard may stand on. They are no longer named in the
  // state file; a later plan finds their files.
  void keep_bases(FilePlan& plan) const {
    const auto links = all_links();
    if (links.empty()) return;
    std::erase_if(plan, [&](const FileAction& action) {
      if (action.kind != FileAction::Kind::remove) return false;
      const auto prefix = detail::prefix_of_file(action.path);
      const auto step = checkpoint_step(prefix);
      return step && prefix == files_.users_prefix(static_cast<Step>(*step)) &&
             is_needed(static_cast<Step>(*step), links);
    });
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
    for (const detail::FoundLink& link : all_links()) {
      if (link.step >= before || link.shards == files_.shards) continue;
      plan.push_back(FileAction::remove(part_file_name(link.prefix, link.shard, link.shards)));
      plan.push_back(FileAction::remove(data_file_name(link.prefix, link.shard, link.shards)));
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
    const auto links = own_links();
    for (const Step step : own)
      if (!is_synchronous_ || (is_users(step) && step < newest_users)) {
        if (is_needed(step, links)) dropped_.insert(step);
        else if_there_is_room([&] { let_go(step); });
      }
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
  std::set<Step> dropped_;  // cuts that were dropped and wait until no link stands on them
  std::set<Step> good_links_;  // links of the list, and those that were saved since
};

#ifndef DISTRIB_HEADER_ONLY  // otherwise in its .ipp
extern template class CutStore<PosixFiles>;
#endif

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_store.ipp>
#endif
