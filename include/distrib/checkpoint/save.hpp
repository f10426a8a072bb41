// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/file_shell.hpp>
#include <distrib/checkpoint/keep_newest.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/retention.hpp>
#include <distrib/core/io_action.hpp>

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Plans a whole save of `directory/name`: the bundle (see `plan_bundle`), then the state file that names it, then the
/// removal of those that go (see `plan_keep_newest`). Whenever the plan stops, `newest_complete` finds the one before
/// or the new one. (Saving a name a second time takes the old one of that name away first.) Performs no I/O.
///
/// `saved`: what `list_checkpoints(directory)` tells. Errors as `plan_bundle`; the plan is empty then.
template <class = void>
[[nodiscard]] auto plan_save(std::string_view directory, std::string_view name, std::span<const BundlePart> parts,
                             std::vector<SavedCheckpoint> saved, const Retention& retention, Error& error,
                             SaveTimes times = {}) -> FilePlan {
  const std::string prefix = detail::join_path(directory, name);
  FilePlan plan = plan_bundle(prefix, parts, error);
  if (error) return {};

  append(plan, plan_keep_newest(directory, name, std::move(saved), retention, {}, times));
  return plan;
}

/// Saves `parts` as the checkpoint `directory/name`, durably, and lets older ones go; the directory is made when it is
/// not there. On failure `error` says what and where, nothing older is lost, and what was written and has not its name yet
/// is removed. Blocks. One save of a directory at a time.
template <class = void>
void save_checkpoint(const std::string& directory, std::string_view name, std::span<const BundlePart> parts,
                     const Retention& retention, Error& error) {
  error = {};
  make_directories(directory, error);
  if (error) return;
  Error unreadable;  // a damaged state file is replaced by a good one
  auto saved = list_checkpoints(directory, unreadable);
  const SaveTimes times{detail::seconds_now(), detail::last_preserved(directory)};
  const FilePlan plan = plan_save(directory, name, parts, std::move(saved), retention, error, times);
  if (!error) perform(plan, error);
}

/// The same; fills `ec` only.
template <class = void>
void save_checkpoint(const std::string& directory, std::string_view name, std::span<const BundlePart> parts,
                     const Retention& retention, std::error_code& ec) {
  save_checkpoint(directory, name, parts, retention, detail::CodeOf{ec});
}

/// The same; throws `std::system_error` that names the file or the tensor.
template <class = void>
void save_checkpoint(const std::string& directory, std::string_view name, std::span<const BundlePart> parts,
                     const Retention& retention = {}) {
  Error error;
  save_checkpoint(directory, name, parts, retention, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib
