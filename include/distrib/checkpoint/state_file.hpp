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
  std::string model_checkpoint_path;                    ///< The newest one.
  std::vector<std::string> all_model_checkpoint_paths;  ///< All that are kept, oldest first, the newest included.
  std::vector<double> all_model_checkpoint_timestamps;  ///< Seconds since 1970; empty, or one for each path.
  std::optional<double> last_preserved_timestamp;

  [[nodiscard]] auto operator==(const CheckpointState&) const -> bool = default;
};

/// Name of that file in `directory`.
[[nodiscard]] inline auto state_file_name(std::string_view directory) -> std::string {
  return detail::join_path(directory, "checkpoint");
}

/// Reads the text of a state file. Empty: `to` is `corrupt_state`: it is no text form, has a field that a
/// CheckpointState has not, names no checkpoint, or has timestamps of another number than paths.
[[nodiscard]] DISTRIB_DECL auto parse_checkpoint_state(std::string_view text, ErrorRef to)
    -> std::optional<CheckpointState>;
[[nodiscard]] inline auto parse_checkpoint_state(std::string_view text) -> CheckpointState {
  Error error;
  return *detail::or_throw(parse_checkpoint_state(text, error), error);
}

/// The text of a state file, as protobuf prints it.
[[nodiscard]] DISTRIB_DECL auto to_string(const CheckpointState& state) -> std::string;

/// The state to be saved in `directory`, by TensorFlow's rules (update_checkpoint_state): the newest path is added to
/// the list when it is missing; when the directory is relative, relative paths are stored relative to it.
/// Empty: `error` is `mismatch`: timestamps of another number than paths.
[[nodiscard]] DISTRIB_DECL auto make_checkpoint_state(std::string_view directory, std::string newest,
                                                      std::vector<std::string> all, std::vector<double> timestamps,
                                                      Error& error) -> std::optional<CheckpointState>;

/// Plans how the state file of `directory` is replaced: never half written, whenever the plan stops. `writer` makes the
/// temporary name another one for each of those that may do this at the same time; empty: nobody else does.
[[nodiscard]] DISTRIB_DECL auto plan_state_file(std::string_view directory, const CheckpointState& state,
                                                std::string_view writer = {}) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/state_file.ipp>
#endif
