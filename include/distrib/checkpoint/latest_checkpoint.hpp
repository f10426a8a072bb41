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

/// One checkpoint of a directory and the files it has there; `files` may be empty or incomplete.
struct SavedCheckpoint {
  std::string prefix;
  std::vector<std::string> files;  ///< Paths; the index file first, if there is one.
  double timestamp = 0;            ///< When it was saved, in seconds since 1970; 0: not known.
  bool preserved = false;          ///< Kept for its time, for ever: see `Retention`.
};

namespace detail {

/// Reads the state file of `directory`. Empty: `error` is `not_found`, `corrupt_state` or `cannot_read`, with its name.
[[nodiscard]] DISTRIB_DECL auto read_checkpoint_state(std::string_view directory, Error& error)
    -> std::optional<CheckpointState>;

}  // namespace detail

/// The newest checkpoint that the state file of `directory` names, like `tf.train.latest_checkpoint`: its prefix, if
/// its index file exists. Empty, without a failure, when there is none or the state file is not readable. Looks at
/// names only; `newest_complete` looks into the files.
[[nodiscard]] DISTRIB_DECL auto latest_checkpoint(std::string_view directory) -> std::optional<std::string>;

namespace detail {

/// `last_preserved_timestamp` of the state file of `directory`.
inline auto last_preserved(std::string_view directory) -> std::optional<double> {
  Error ignored;
  const auto state = read_checkpoint_state(directory, ignored);
  return state ? state->last_preserved_timestamp : std::nullopt;
}

/// When a checkpoint was saved of which no state file tells it: when it got its index.
inline auto index_seconds(const SavedCheckpoint& checkpoint) noexcept -> double {
  return checkpoint.files.empty() ? 0 : change_seconds(checkpoint.files.front());
}

/// The checkpoints found in a directory, by the step in their names, those without one first; then by prefix. A
/// directory that is not there has none.
DISTRIB_DECL auto scan_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint>;

}  // namespace detail

/// The checkpoints of `directory`, oldest first: those that its state file names and that are there, in its order; when
/// there is no readable state file, or nothing of what it names is there, those with an index file, by the step in their
/// names. A directory that was moved is no hindrance: what is not at the path that the state file names, and is in the
/// directory under the same name, is meant. Times are those of the state file, else of the index files; those not after
/// its `last_preserved_timestamp` are preserved.
///
/// `error` is set when the directory or a damaged state file could not be read, and to `stale_state` when the newest
/// checkpoint that the state file names is not at its path; what was found is returned all the same.
[[nodiscard]] DISTRIB_DECL auto list_checkpoints(const std::string& directory, Error& error)
    -> std::vector<SavedCheckpoint>;

/// Opens the newest checkpoint of `directory` of which every byte is right: of `list_checkpoints`, then of those that the
/// state file does not name. Each one that is not is passed over, with what is wrong with it added to `refused`; so is a
/// state file that is damaged or names what is not there. Empty: there is no good one. When `refused` is empty too, there
/// never was one, and a job may start anew; otherwise ask before anything is overwritten.
[[nodiscard]] DISTRIB_DECL auto newest_complete(const std::string& directory, std::vector<Error>& refused)
    -> std::optional<BundleReader>;

namespace detail {

/// The same with other requirements: `look` sets an error when it does not want the checkpoint, which is open then.
[[nodiscard]] DISTRIB_DECL auto newest_of(const std::string& directory, std::vector<Error>& refused,
                                          const std::function<void(const BundleReader&, Error&)>& look)
    -> std::optional<BundleReader>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/latest_checkpoint.ipp>
#endif
