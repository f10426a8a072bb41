// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/text_form.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
template <class = void> [[nodiscard]] auto state_file_name(std::string_view directory) -> std::string {
  return detail::join_path(directory, "checkpoint");
}

/// Reads the text of a state file. Empty: `error` is `corrupt_state`: it is no text form, has a field that a
/// CheckpointState has not, names no checkpoint, or has timestamps of another number than paths.
template <class = void>
[[nodiscard]] auto parse_checkpoint_state(std::string_view text, Error& error) -> std::optional<CheckpointState> {
  error = {};
  CheckpointState state;
  detail::TextFields fields{text};
  std::string name;
  double number = 0;
  bool good = true;
  while (good && !fields.at_end()) {
    good = fields.name(name);
    if (name == "model_checkpoint_path") {
      good = good && fields.text(state.model_checkpoint_path);
    } else if (name == "all_model_checkpoint_paths") {
      good = good && fields.text(state.all_model_checkpoint_paths.emplace_back());
    } else if (name == "all_model_checkpoint_timestamps") {
      good = good && fields.number(number);
      state.all_model_checkpoint_timestamps.push_back(number);
    } else if (name == "last_preserved_timestamp") {
      good = good && fields.number(number);
      state.last_preserved_timestamp = number;
    } else {
      good = false;
    }
  }
  const auto& times = state.all_model_checkpoint_timestamps;
  if (!good) error = {checkpoint_errc::corrupt_state, "at field " + name};
  else if (state.model_checkpoint_path.empty()) error = {checkpoint_errc::corrupt_state, "model_checkpoint_path"};
  else if (!times.empty() && times.size() != state.all_model_checkpoint_paths.size())
    error = {checkpoint_errc::corrupt_state, "all_model_checkpoint_timestamps"};
  if (error) return std::nullopt;
  return state;
}
template <class = void> [[nodiscard]] auto parse_checkpoint_state(std::string_view text) -> CheckpointState {
  Error error;
  return *detail::or_throw(parse_checkpoint_state(text, error), error);
}

/// The text of a state file, as protobuf prints it.
template <class = void> [[nodiscard]] auto to_string(const CheckpointState& state) -> std::string {
  std::string text = "model_checkpoint_path: " + detail::quoted(state.model_checkpoint_path) + '\n';
  for (const std::string& path : state.all_model_checkpoint_paths)
    text += "all_model_checkpoint_paths: " + detail::quoted(path) + '\n';
  for (const double time : state.all_model_checkpoint_timestamps)
    text += "all_model_checkpoint_timestamps: " + detail::shortest_text(time) + '\n';
  if (state.last_preserved_timestamp)
    text += "last_preserved_timestamp: " + detail::shortest_text(*state.last_preserved_timestamp) + '\n';
  return text;
}

/// The state to be saved in `directory`, by TensorFlow's rules (update_checkpoint_state): the newest path is added to
/// the list when it is missing; when the directory is relative, relative paths are stored relative to it.
/// Empty: `error` is `mismatch`: timestamps of another number than paths.
template <class = void>
[[nodiscard]] auto make_checkpoint_state(std::string_view directory, std::string newest, std::vector<std::string> all,
                                         std::vector<double> timestamps, Error& error)
    -> std::optional<CheckpointState> {
  error = {};
  if (!timestamps.empty() && timestamps.size() != all.size()) {
    error = {checkpoint_errc::mismatch,
             std::to_string(timestamps.size()) + " timestamps for " + std::to_string(all.size()) + " paths"};
    return std::nullopt;
  }
  if (std::find(all.begin(), all.end(), newest) == all.end()) {
    all.push_back(newest);
    timestamps.clear();  // none is known for it
  }
  const auto stored = [&](std::string& path) {
    if (!directory.starts_with('/') && !path.starts_with('/')) path = detail::relative_path(path, directory);
  };
  stored(newest);
  for (std::string& path : all) stored(path);
  return CheckpointState{std::move(newest), std::move(all), std::move(timestamps), std::nullopt};
}

/// Plans how the state file of `directory` is replaced: never half written, whenever the plan stops. `writer` makes the
/// temporary name another one for each of those that may do this at the same time; empty: nobody else does.
template <class = void>
[[nodiscard]] auto plan_state_file(std::string_view directory, const CheckpointState& state,
                                   std::string_view writer = {}) -> FilePlan {
  const std::string text = to_string(state);
  const std::string temporary =
      detail::join_path(directory, ".saving.checkpoint") + (writer.empty() ? "" : "-") + std::string{writer};
  const ByteView bytes = as_bytes(text);
  return {FileAction::write(temporary, {}, {bytes.begin(), bytes.end()}), FileAction::sync(temporary),
          FileAction::rename(temporary, state_file_name(directory)),
          FileAction::sync_directory(std::string{directory})};
}

}  // namespace v0
}  // namespace distrib
