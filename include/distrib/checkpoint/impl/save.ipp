// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/save.hpp>

#include <distrib/checkpoint/directories.hpp>
#include <distrib/checkpoint/perform.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto plan_save(std::string_view directory, std::string_view name, std::span<const BundlePart> parts,
                            std::vector<SavedCheckpoint> saved, const Retention& retention, Error& error,
                            SaveTimes times) -> FilePlan {
  const std::string prefix = detail::join_path(directory, name);
  FilePlan plan = plan_bundle(prefix, parts, error);
  if (error) return {};

  append(plan, plan_keep_newest(directory, name, std::move(saved), retention, {}, times));
  return plan;
}

}  // namespace detail

DISTRIB_DECL void save_checkpoint(const std::string& directory, std::string_view name,
                                  std::span<const BundlePart> parts, const Retention& retention, ErrorRef to) {
  detail::ErrorOut error{to};
  make_directories(directory, error);
  if (error) return;
  Error unreadable;  // no failure: a damaged state file is replaced by a good one
  auto saved = list_checkpoints(directory, unreadable);
  const SaveTimes times{detail::seconds_now(), detail::last_preserved(directory)};
  const FilePlan plan = detail::plan_save(directory, name, parts, std::move(saved), retention, error, times);
  if (!error) perform(plan, error);
}

}  // namespace v0
}  // namespace distrib
