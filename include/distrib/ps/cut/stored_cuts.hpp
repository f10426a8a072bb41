// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/ps/cut/detail/posix_files.hpp>
#include <distrib/ps/cut/detail/rank_files.hpp>
#include <distrib/ps/cut/initial_checkpoint.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_cuts.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/record/any_object_store.hpp>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Performs the work that `ShardFiles` asks for, with a `CutStore`, or with `ObjectCuts` if the directory is a URL, and
/// with `initial_cut`.
///
/// Errors: reported in `CutWork::failure`. Throws only what `Perform` throws and is no `std::system_error`.
///
/// Threads: one at a time: the thread of files. Blocks.
template <class Perform = PosixFiles>
class StoredCuts {
 public:
  /// `access`: for directories that are URLs.
  explicit StoredCuts(Perform perform = {}, ObjectAccess access = {})
      : perform_{std::move(perform)}, access_{std::move(access)} {}

  /// Performs `work` and sets its results, or `failure` if it cannot be done. Must not be called with kinds other than
  /// `open` and `finish` before an `open` has succeeded.
  void operator()(CutWork& work) {
    try {
      perform(work);
    } catch (const std::system_error& error) {
      work.failure = error_of(error);
    } catch (const std::bad_alloc&) {
      work.failure = {std::make_error_code(std::errc::not_enough_memory), "reading or writing a cut"};
    }
  }

 private:
  void perform(CutWork& work) {
    switch (work.kind) {
      case CutWork::Kind::open: return open(work);
      case CutWork::Kind::start:
      case CutWork::Kind::load:
      case CutWork::Kind::send:
        if (work.is_initial) return read_initial(work);
        work.cut = objects_ ? std::move(objects_->read(work.step).front()) : store_->read(work.step);
        return;
      case CutWork::Kind::save:
        work.cut = std::move(work.save).finish();
        if (objects_) objects_->save({&work.cut, 1});
        else store_->save(work.cut);
        return;
      case CutWork::Kind::save_ranks:
        if (objects_) objects_->save_ranks(*work.ranks);
        else if (owner_.settings.directory.empty()) ranks_in_memory_ = work.ranks;
        else perform_(detail::RankFiles{owner_.settings.directory, owner_.job, owner_.replica}.plan(*work.ranks));
        return;
      case CutWork::Kind::drop:
        if (objects_) objects_->drop(work.step, work.unneeded);
        else store_->drop(work.step, work.unneeded);
        return;
      case CutWork::Kind::finish:
        if (objects_) objects_->finish();
        else if (store_) store_->finish();
        return;
      case CutWork::Kind::look:
        if (objects_) objects_->look();
        return;
    }
  }

  void open(CutWork& work) {
    owner_ = *work.owner;
    objects_.reset();
    if (detail::is_url(owner_.settings.directory)) {
      auto objects = std::make_unique<ObjectCuts>(owner_, access_);
      objects->open(work);
      objects_ = std::move(objects);
      return;
    }
    if (owner_.job.keeps_log() && !open_ranks(work)) return;
    // Cuts in memory replace files: they stay when the shard is opened again, as files would.
    if (!store_ || !owner_.settings.directory.empty())
      store_.emplace(owner_.settings, owner_.job, owner_.replica, owner_.updaters, perform_);
    work.cuts = store_->list(work.refused);
  }

  // Returns false, with `failure`, if the log of the ranks cannot be read.
  auto open_ranks(CutWork& work) const -> bool {
    const std::string& directory = owner_.settings.directory;
    if (directory.empty()) {
      work.ranks = ranks_in_memory_;
      return true;
    }
    work.ranks = detail::RankFiles{directory, owner_.job, owner_.replica}.read(work.failure);
    // The process before may have died between the rename and the sync: then the file could still go back.
    if (work.ranks) perform_(FilePlan{FileAction::sync_directory(directory)});
    return !work.failure;
  }

  void read_initial(CutWork& work) const {
    const auto checkpoint = InitialCheckpoint::of(owner_.job, access_.open);
    if (checkpoint) work.missing = checkpoint->missing();
    work.cut = initial_cut(owner_.job, ShardLayout{owner_.job, owner_.replica % owner_.job.shards()}, owner_.updaters,
                           checkpoint);
  }

  Perform perform_;
  ObjectAccess access_;
  CutOwner owner_;
  std::optional<CutStore<Perform>> store_;
  std::optional<RankFile> ranks_in_memory_;  // in place of a file, as cuts in memory are
  std::unique_ptr<ObjectCuts> objects_;  // null: the directory is none of an object store
};

}  // namespace v0
}  // namespace distrib
