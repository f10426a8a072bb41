// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/checkpoint_store.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/directories.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/save.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/record/any_object_store.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL CheckpointStore::CheckpointStore(const SaveCheckpoint& setting, const Job& job,
                                              const JobUpdaters& updaters, const ObjectAccess& access)
    : directory_{setting.directory}, keep_{setting.retention()} {
  if (detail::is_url(directory_)) {
    // Each cut is a checkpoint: also the one that is saved when the job is stopped.
    const CutSettings cuts{.directory = directory_, .keep_every = 1, .retention = keep_};
    objects_ = std::make_shared<ObjectCuts>(CutOwner{job, 0, cuts, updaters}, access, CutShards::all);
    return;
  }
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) shards_.emplace_back(job, shard, updaters);
  Error error;
  make_writable_directory(directory_, error);
  throw_if(error);
}

namespace detail {

// Returns one error with the texts of all `errors`; its code is the code of the last one.
DISTRIB_DECL auto all_together(const std::vector<Error>& errors) -> Error {
  Error all{errors.back().code, {}};
  for (const Error& error : errors)
    all.where += error.where + (&error == &errors.back() ? "" : ": " + error.code.message() + "; ");
  return all;
}

DISTRIB_DECL auto restored_from(const RestoredCuts& restored) -> Event {
  return {Event::Kind::restored,
          "local",
          restored.prefix,
          {},
          "continuing after step " + std::to_string(restored.cuts.front().step) + " from " + restored.prefix};
}

}  // namespace detail

DISTRIB_DECL auto CheckpointStore::restore_objects() const -> RestoredCuts {
  RestoredCuts restored;
  CutWork work;
  objects_->open(work);
  if (work.cuts.empty() && !work.refused.empty()) throw_if(detail::all_together(work.refused));
  for (const Error& error : work.refused)
    restored.events.push_back({Event::Kind::checkpoint_refused, "local", error.where, error.code,
                               "skipped: " + error.where + ": " + error.code.message()});
  if (work.cuts.empty()) return restored;
  const Step step = work.cuts.back().step;
  restored.cuts = objects_->read(step);
  restored.prefix = directory_ + "/model.ckpt-" + std::to_string(step);
  restored.events.push_back(detail::restored_from(restored));
  return restored;
}

DISTRIB_DECL void CheckpointStore::finish() const {
  if (!objects_) return;
  try {
    objects_->finish();
  } catch (const std::system_error&) {  // the next job there removes it
  }
}

DISTRIB_DECL auto CheckpointStore::restore() const -> RestoredCuts {
  if (objects_) return restore_objects();
  // A checkpoint without a job, such as an exported model, is not what the job continues from.
  const auto look = [this](const BundleReader& reader, Error& error) {
    if (reader.find("distrib/job") == nullptr) shards_.front().check_job(reader, error);
    else reader.verify(error);
  };
  RestoredCuts restored;
  std::vector<Error> refused;
  const auto reader = detail::newest_of(directory_, refused, look);
  if (!reader && !refused.empty()) throw_if(detail::all_together(refused));
  for (const Error& error : refused) {
    const std::string what = error.where + ": " + error.code.message();
    const bool is_stale = error.code == checkpoint_errc::stale_state;
    restored.events.push_back({Event::Kind::checkpoint_refused, "local", error.where, error.code,
                               is_stale ? what + "; used instead: " + reader->prefix() : "skipped: " + what});
  }
  if (!reader) return restored;

  shards_.front().check_job(*reader);
  restored.prefix = reader->prefix();
  for (const CutTensors& shard : shards_) restored.cuts.push_back(shard.read(*reader));
  restored.events.push_back(detail::restored_from(restored));
  return restored;
}

DISTRIB_DECL auto CheckpointStore::save(Step step, std::span<const Cut> cuts) const -> std::string {
  const std::string name = "model.ckpt-" + std::to_string(step);
  if (objects_) {
    objects_->drop_older();
    objects_->save(cuts);
    return directory_ + "/" + name;
  }
  std::vector<BundlePart> parts;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) parts.push_back(shards_[shard].part(cuts[shard]));
  shards_.front().describe(cuts.front(), parts.front());
  save_checkpoint(directory_, name, parts, keep_);
  return directory_ + "/" + name;
}

}  // namespace v0
}  // namespace distrib
