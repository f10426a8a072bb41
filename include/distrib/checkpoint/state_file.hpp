// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/paths.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Content of the text file `checkpoint` beside the checkpoints of a directory: tensorflow.CheckpointState in
/// protobuf's text form. A value. Paths that are not absolute are relative to the directory.
struct CheckpointState {
  std::string model_checkpoint_path;  ///< The newest checkpoint.
  /// All checkpoints that are kept, oldest first, including the newest.
  std::vector<std::string> all_model_checkpoint_paths;
  std::vector<double> all_model_checkpoint_timestamps;  ///< Seconds since 1970; empty, or one for each path.
  /// Checkpoints with a time that is not after this one are kept for ever: see `Retention`.
  std::optional<double> last_preserved_timestamp;

  [[nodiscard]] auto operator==(const CheckpointState&) const -> bool = default;
};

/// Returns the name of the state file of `directory`.
[[nodiscard]] inline auto state_file_name(std::string_view directory) -> std::string {
  return detail::join_path(directory, "checkpoint");
}

/// Reads the text of a state file. On failure returns nothing and sets `to` to `corrupt_state`: it is not in text form,
/// has an unknown field, names no checkpoint, or has another number of timestamps than of paths. The overload without
/// `to` throws `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_checkpoint_state(std::string_view text, ErrorRef to)
    -> std::optional<CheckpointState>;
[[nodiscard]] inline auto parse_checkpoint_state(std::string_view text) -> CheckpointState {
  Error error;
  return *detail::or_throw(parse_checkpoint_state(text, error), error);
}

/// Returns the text of a state file, as protobuf prints it.
[[nodiscard]] DISTRIB_DECL auto to_string(const CheckpointState& state) -> std::string;

/// Returns the state to save in `directory`, by TensorFlow's rules (update_checkpoint_state): adds the newest path to
/// the list if it is missing, and then drops all timestamps, because its time is not known; if the directory is
/// relative, stores relative paths relative to it. `last_preserved_timestamp` is not set. If there are timestamps, but
/// not one for each path of `all`, returns nothing and sets `error` to `mismatch`.
[[nodiscard]] DISTRIB_DECL auto make_checkpoint_state(std::string_view directory, std::string newest,
                                                      std::vector<std::string> all, std::vector<double> timestamps,
                                                      Error& error) -> std::optional<CheckpointState>;

/// Plans how the state file of `directory` is replaced. Wherever the plan stops, the file is never half written.
/// `writer` makes the temporary name unique among tasks that may do this at the same time; it may be empty if there is
/// only one.
[[nodiscard]] DISTRIB_DECL auto plan_state_file(std::string_view directory, const CheckpointState& state,
                                                std::string_view writer = {}) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/state_file.ipp>
#endif
