// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/object_checkpoints.hpp>

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/ranged_bytes.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/record/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

// An object as a file that is read by ranges. Its content never changes.
DISTRIB_DECL auto ranged_object(AnyObjectStore store, std::string key, std::uint64_t bytes) -> RangedBytes {
  return {bytes, [store = std::move(store), key = std::move(key)](std::uint64_t first, std::span<std::byte> to,
                                                                  Error& error) mutable {
            store.get_range(key, first, to, {}, error);
          }};
}

}  // namespace detail

DISTRIB_DECL auto ObjectCheckpoints::list(ErrorRef to) -> std::vector<CheckpointKey> {
  detail::ErrorOut error{to};
  const std::vector<ObjectInfo> indexes = directory_.store.list(names_.checkpoints(), error);
  if (error) return {};
  const std::vector<ObjectInfo> cuts = directory_.store.list(names_.cuts(), error);
  if (error) return {};
  std::set<CutKey> there;
  for (const ObjectInfo& info : cuts)
    if (const auto key = names_.cut_of(info.key)) there.insert(*key);
  std::vector<CheckpointKey> whole;
  for (const ObjectInfo& info : indexes) {
    const auto key = names_.checkpoint_of(info.key);
    if (!key || (!whole.empty() && whole.back().step == key->step)) continue;
    const std::vector<std::byte> object = directory_.store.get(info.key, most_index_bytes, error);
    if (error && error.code != failure::not_found) return {};
    error = Error{};
    Error damaged;
    const std::vector<CheckpointCut> named = parse_checkpoint_index(object, damaged);
    const auto is_there = [&there](const CheckpointCut& cut) { return there.contains(cut.key); };
    if (!named.empty() && named.front().key.step == key->step && std::ranges::all_of(named, is_there))
      whole.push_back(*key);
  }
  return whole;
}

DISTRIB_DECL auto ObjectCheckpoints::open(const CheckpointKey& key, ErrorRef to) -> std::optional<BundleReader> {
  detail::ErrorOut error{to};
  const std::string name = names_.checkpoint(key);
  const std::vector<std::byte> object = directory_.store.get(name, most_index_bytes, error);
  if (error) return std::nullopt;
  const std::vector<CheckpointCut> cuts = parse_checkpoint_index(object, error);
  BundleIndex index;
  if (!error) static_cast<void>(parse_bundle_index(object, index, error));
  if (error) {
    error.where = name + ": " + error.where;
    return std::nullopt;
  }
  std::vector<std::string> files;
  std::vector<RangedBytes> ranges;
  for (const CheckpointCut& cut : cuts) {
    files.push_back(names_.cut(cut.key));
    ranges.push_back(detail::ranged_object(directory_.store, files.back(), cut.bytes));
  }
  while (cuts.size() == 1 && ranges.size() < index.shards) {  // of a job in one process: all shards are in one object
    files.push_back(files.front());
    ranges.push_back(detail::ranged_object(directory_.store, files.front(), cuts.front().bytes));
  }
  return BundleReader::of_ranges(prefix_of(key.step), std::move(index), std::move(files), std::move(ranges),
                                 std::nullopt, error);
}

DISTRIB_DECL auto ObjectCheckpoints::open_step(Step step, ErrorRef to) -> std::optional<BundleReader> {
  detail::ErrorOut error{to};
  const std::vector<CheckpointKey> whole = list(error);
  if (error) return std::nullopt;
  const auto at = std::ranges::find(whole, step, &CheckpointKey::step);
  if (at != whole.end()) return open(*at, error);
  error = {checkpoint_errc::no_such_checkpoint, prefix_of(step)};
  return std::nullopt;
}

DISTRIB_DECL auto open_directory(const std::string& url, const OpenObjectStore& open, Error& error) -> ObjectDirectory {
  error = {};
  if (open) return open(url, error);
  error = {record_errc::no_object_store, detail::shown_url(url)};
  return {};
}

DISTRIB_DECL auto open_checkpoint(const std::string& prefix, const OpenObjectStore& open, ErrorRef to)
    -> std::optional<BundleReader> {
  if (!detail::is_url(prefix)) return BundleReader::open(prefix, to);
  detail::ErrorOut error{to};
  std::string_view name = detail::file_of(prefix);
  constexpr std::string_view begin = "model.ckpt-";
  std::optional<std::int64_t> step;
  if (name.starts_with(begin)) step = checkpoint_step(name.substr(0, name.find('.', begin.size())));
  if (!step) {
    error = {checkpoint_errc::no_such_checkpoint,
             detail::shown_url(prefix) + ": write URL/model.ckpt-STEP, with the step of a checkpoint of a job"};
    return std::nullopt;
  }
  ObjectDirectory directory = open_directory(detail::directory_of(prefix), open, error);
  if (error) return std::nullopt;
  return ObjectCheckpoints{std::move(directory)}.open_step(static_cast<Step>(*step), error);
}

DISTRIB_DECL auto newest_prefix(const std::string& directory, const OpenObjectStore& open, ErrorRef to) -> std::string {
  detail::ErrorOut error{to};
  if (!detail::is_url(directory)) return latest_checkpoint(directory).value_or("");
  ObjectDirectory opened = open_directory(directory, open, error);
  if (error) return {};
  ObjectCheckpoints checkpoints{std::move(opened)};
  const std::vector<CheckpointKey> whole = checkpoints.list(error);
  return whole.empty() ? std::string{} : checkpoints.prefix_of(whole.back().step);
}

}  // namespace v0
}  // namespace distrib
