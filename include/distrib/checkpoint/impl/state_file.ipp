// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/state_file.hpp>

#include <distrib/checkpoint/detail/text_form.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parse_checkpoint_state(std::string_view text, ErrorRef to) -> std::optional<CheckpointState> {
  detail::ErrorOut error{to};
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

DISTRIB_DECL auto to_string(const CheckpointState& state) -> std::string {
  std::string text = "model_checkpoint_path: " + detail::quoted(state.model_checkpoint_path) + '\n';
  for (const std::string& path : state.all_model_checkpoint_paths)
    text += "all_model_checkpoint_paths: " + detail::quoted(path) + '\n';
  for (const double time : state.all_model_checkpoint_timestamps)
    text += "all_model_checkpoint_timestamps: " + detail::shortest_text(time) + '\n';
  if (state.last_preserved_timestamp)
    text += "last_preserved_timestamp: " + detail::shortest_text(*state.last_preserved_timestamp) + '\n';
  return text;
}

DISTRIB_DECL auto make_checkpoint_state(std::string_view directory, std::string newest, std::vector<std::string> all,
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
    timestamps.clear();  // the time of `newest` is not known
  }
  const auto stored = [&](std::string& path) {
    if (!directory.starts_with('/') && !path.starts_with('/')) path = detail::relative_path(path, directory);
  };
  stored(newest);
  for (std::string& path : all) stored(path);
  return CheckpointState{std::move(newest), std::move(all), std::move(timestamps), std::nullopt};
}

DISTRIB_DECL auto plan_state_file(std::string_view directory, const CheckpointState& state, std::string_view writer)
    -> FilePlan {
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
