// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/state_file.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/files.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One checkpoint of a directory, and the files that it has there; `files` may be empty or incomplete.
struct SavedCheckpoint {
  std::string prefix;  ///< Path of the checkpoint, without the endings of its files.
  std::vector<std::string> files;  ///< Paths; the index file comes first, if there is one.
  double timestamp = 0;  ///< When it was saved, in seconds since 1970; 0: not known.
  bool preserved = false;  ///< True if it is kept for ever: see `Retention`.
};

namespace detail {

/// Reads the state file of `directory`. On failure returns nothing and sets `error`, with the name of the file:
/// `not_found`, `corrupt_state` or `cannot_read`.
[[nodiscard]] DISTRIB_DECL auto read_checkpoint_state(std::string_view directory, Error& error)
    -> std::optional<CheckpointState>;

}  // namespace detail

/// Returns the prefix of the checkpoint that the state file of `directory` names as the newest, like
/// `tf.train.latest_checkpoint`. Returns nothing, without an error, if there is no file `PREFIX.index` (or `PREFIX`,
/// for a checkpoint of version 1), or if the state file cannot be read. Looks only at names; `newest_complete` looks
/// into the files.
[[nodiscard]] DISTRIB_DECL auto latest_checkpoint(std::string_view directory) -> std::optional<std::string>;

namespace detail {

/// Returns `last_preserved_timestamp` of the state file of `directory`, if it has one.
inline auto last_preserved(std::string_view directory) -> std::optional<double> {
  Error ignored;
  const auto state = read_checkpoint_state(directory, ignored);
  return state ? state->last_preserved_timestamp : std::nullopt;
}

/// Returns when a checkpoint was saved if no state file says it: the time of change of its index file, in seconds since
/// 1970; 0 if it is not known.
inline auto index_seconds(const SavedCheckpoint& checkpoint) noexcept -> double {
  return checkpoint.files.empty() ? 0 : change_seconds(checkpoint.files.front());
}

/// Returns the checkpoints found in a directory, also without an index file: first the checkpoints without a step in
/// their names, then the others by step; with equal steps by prefix. Times are not set. A directory that does not exist
/// has none. If the directory cannot be read, sets `error` to `cannot_read`; otherwise `error` stays as it was.
DISTRIB_DECL auto scan_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint>;

}  // namespace detail

/// Returns the checkpoints of `directory`, oldest first. If it has a readable state file: the checkpoints that the file
/// names and that exist, in its order, the newest last. If it has none, or if nothing of what the file names exists:
/// the checkpoints with an index file, by the step in their names.
///
/// The directory may have been moved: a checkpoint that is not at the path in the state file, but has the same name in
/// the directory, counts as the one that is meant. Times are taken from the state file, otherwise from the index files.
/// A checkpoint is preserved if the state file has its time, and this time is not after `last_preserved_timestamp`.
///
/// Errors: `error` is set if the directory or a damaged state file could not be read, and to `stale_state` if the
/// newest checkpoint that the state file names is not at its path. What was found is returned all the same.
[[nodiscard]] DISTRIB_DECL auto list_checkpoints(const std::string& directory, Error& error)
    -> std::vector<SavedCheckpoint>;

/// Opens the newest checkpoint of `directory` whose bytes are all right. Tries first the checkpoints of
/// `list_checkpoints`, then the checkpoints that the state file does not name, each time beginning with the newest. A
/// checkpoint with a fault is skipped, and the fault is added to `refused`; so are the errors of `list_checkpoints`,
/// such as a state file that is damaged, or whose newest checkpoint does not exist.
///
/// Returns nothing if there is no good checkpoint. If nothing was added to `refused` either, there has never been one,
/// and a job may start from its initial values; otherwise ask the user before you overwrite anything.
[[nodiscard]] DISTRIB_DECL auto newest_complete(const std::string& directory, std::vector<Error>& refused)
    -> std::optional<BundleReader>;

namespace detail {

/// As `newest_complete`, with other requirements: `look` gets the open checkpoint and sets an error to refuse it.
[[nodiscard]] DISTRIB_DECL auto newest_of(const std::string& directory, std::vector<Error>& refused,
                                          const std::function<void(const BundleReader&, Error&)>& look)
    -> std::optional<BundleReader>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/latest_checkpoint.ipp>
#endif
