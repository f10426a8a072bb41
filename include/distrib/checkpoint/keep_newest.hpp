// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/state_file.hpp>
#include <distrib/core/io_action.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distrib::inline v0 {

/// What becomes of older checkpoints when a new one is saved.
struct SaveOptions {
  /// The newest so many of one series ("model.ckpt" of "model.ckpt-1234") are kept, the new one included; 0: all.
  std::size_t max_to_keep = 5;
};

/// Plans what follows when the index of `directory/name` has got its name: the state file that names it as the newest,
/// then the removal of those beyond `max_to_keep`, with all their files. Performs no I/O.
///
/// `saved`: what `list_checkpoints(directory)` tells. `writer`: see `plan_state_file`.
[[nodiscard]] inline auto plan_keep_newest(std::string_view directory, std::string_view name,
                                           std::vector<SavedCheckpoint> saved, SaveOptions options,
                                           std::string_view writer = {}) -> FilePlan {
  const std::string prefix = detail::join_path(directory, name);
  const auto same_series = [&](const SavedCheckpoint& other) {
    return detail::series_of(other.prefix) == detail::series_of(name);
  };
  std::erase_if(saved, [&](const SavedCheckpoint& other) { return other.prefix == prefix || other.files.empty(); });
  auto series = 1 + static_cast<std::size_t>(std::count_if(saved.begin(), saved.end(), same_series));
  std::vector<std::string> dropped;
  CheckpointState state;
  state.model_checkpoint_path = name;
  for (SavedCheckpoint& other : saved) {
    if (options.max_to_keep != 0 && series > options.max_to_keep && same_series(other)) {
      for (std::string& file : other.files) dropped.push_back(std::move(file));
      --series;
    } else {
      state.all_model_checkpoint_paths.push_back(detail::relative_path(other.prefix, directory));
    }
  }
  state.all_model_checkpoint_paths.emplace_back(name);

  FilePlan plan = plan_state_file(directory, state, writer);
  for (const std::string& file : dropped) plan.push_back(FileAction::remove(file));
  return plan;
}

}  // namespace distrib::inline v0
