// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/keep_newest.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/retention.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/io_action.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Plans a whole save of `directory/name`: the bundle (see `plan_bundle`), then the state file that names it, then the
/// removal of older checkpoints (see `plan_keep_newest`). Wherever the plan stops, `newest_complete` finds the
/// checkpoint before it or the new one. (If the name is saved a second time, its old checkpoint is removed first.)
/// Performs no I/O.
///
/// `saved`: as returned by `list_checkpoints(directory)`. Fails as `plan_bundle` does; the plan is then empty.
[[nodiscard]] DISTRIB_DECL auto plan_save(std::string_view directory, std::string_view name,
                                          std::span<const BundlePart> parts, std::vector<SavedCheckpoint> saved,
                                          const Retention& retention, Error& error, SaveTimes times = {}) -> FilePlan;

}  // namespace detail

/// Saves `parts` as the checkpoint `directory/name`, durably, and removes older checkpoints as `retention` says. Makes
/// the directory if it does not exist. Blocks. Only one save in a directory at a time.
///
/// Errors: `to` names the tensor with `duplicate`, `incomplete` or `mismatch` (also if there are no parts, or more than
/// 99,999); or the path and the system's reason with `cannot_write` or `no_room`. An older checkpoint `directory/name`
/// may then be lost, but no checkpoint of another name that `retention` keeps. Files that have not got their names yet
/// are removed, except a file whose write failed for another reason than a full disk. If only the removal of an older
/// checkpoint failed, the new checkpoint is saved.
DISTRIB_DECL void save_checkpoint(const std::string& directory, std::string_view name,
                                  std::span<const BundlePart> parts, const Retention& retention, ErrorRef to);

/// This overload throws the error as `std::system_error` that names the file or the tensor.
inline void save_checkpoint(const std::string& directory, std::string_view name, std::span<const BundlePart> parts,
                            const Retention& retention = {}) {
  Error error;
  save_checkpoint(directory, name, parts, retention, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/save.ipp>
#endif
