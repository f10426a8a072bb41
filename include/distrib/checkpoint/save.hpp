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
/// removal of those that go (see `plan_keep_newest`). Whenever the plan stops, `newest_complete` finds the one before
/// or the new one. (Saving a name a second time takes the old one of that name away first.) Performs no I/O.
///
/// `saved`: what `list_checkpoints(directory)` tells. Errors as `plan_bundle`; the plan is empty then.
[[nodiscard]] DISTRIB_DECL auto plan_save(std::string_view directory, std::string_view name,
                                          std::span<const BundlePart> parts, std::vector<SavedCheckpoint> saved,
                                          const Retention& retention, Error& error, SaveTimes times = {}) -> FilePlan;

}  // namespace detail

/// Saves `parts` as the checkpoint `directory/name`, durably, and lets older ones go; the directory is made when it is
/// not there. On failure `to` says what and where, nothing older is lost, and what was written and has not its name yet
/// is removed. Blocks. One save of a directory at a time.
DISTRIB_DECL void save_checkpoint(const std::string& directory, std::string_view name,
                                  std::span<const BundlePart> parts, const Retention& retention, ErrorRef to);

/// The same; throws `std::system_error` that names the file or the tensor.
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
