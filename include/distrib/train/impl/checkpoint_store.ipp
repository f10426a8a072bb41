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

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL CheckpointStore::CheckpointStore(const SaveCheckpoint& setting, const Job& job,
                                              const JobUpdaters& updaters)
    : directory_{setting.directory}, keep_{setting.retention()} {
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

}  // namespace detail

DISTRIB_DECL auto CheckpointStore::restore() const -> RestoredCuts {
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
  restored.events.push_back(
      {Event::Kind::restored,
       "local",
       restored.prefix,
       {},
       "continuing after step " + std::to_string(restored.cuts.front().step) + " from " + restored.prefix});
  return restored;
}

DISTRIB_DECL auto CheckpointStore::save(Step step, std::span<const Cut> cuts) const -> std::string {
  std::vector<BundlePart> parts;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) parts.push_back(shards_[shard].part(cuts[shard]));
  shards_.front().describe(cuts.front(), parts.front());

  const std::string name = "model.ckpt-" + std::to_string(step);
  save_checkpoint(directory_, name, parts, keep_);
  return directory_ + "/" + name;
}

}  // namespace v0
}  // namespace distrib
