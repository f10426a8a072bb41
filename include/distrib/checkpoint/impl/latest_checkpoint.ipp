// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/latest_checkpoint.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto read_checkpoint_state(std::string_view directory, Error& error) -> std::optional<CheckpointState> {
  constexpr std::uint64_t max_state_bytes = std::uint64_t{1} << 26;
  error = {};
  const std::string file = state_file_name(directory);
  std::vector<std::byte> bytes;
  if (!detail::read_file(file, max_state_bytes, checkpoint_errc::corrupt_state, bytes, error)) return std::nullopt;
  auto state = parse_checkpoint_state(as_text(bytes), error);
  if (error) error.where = file + ": " + error.where;
  return state;
}

}  // namespace detail

namespace detail {

// True if there is a checkpoint of this prefix. The file of a checkpoint of version 1 has the prefix as its name.
DISTRIB_DECL auto checkpoint_exists(const std::string& prefix) -> bool {
  return path_exists(index_file_name(prefix)) || (path_exists(prefix) && !is_directory(prefix));
}

}  // namespace detail

DISTRIB_DECL auto latest_checkpoint(std::string_view directory) -> std::optional<std::string> {
  Error ignored;
  const auto state = detail::read_checkpoint_state(directory, ignored);
  if (!state) return std::nullopt;
  std::string prefix = detail::join_path(directory, state->model_checkpoint_path);
  if (!detail::checkpoint_exists(prefix)) return std::nullopt;
  return prefix;
}

namespace detail {

// Returns when the checkpoint of this path was saved, if `state` says it.
DISTRIB_DECL auto timestamp_of(const CheckpointState& state, std::string_view path) noexcept -> std::optional<double> {
  const auto& paths = state.all_model_checkpoint_paths;
  const auto at = static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin());
  if (at >= state.all_model_checkpoint_timestamps.size()) return std::nullopt;
  return state.all_model_checkpoint_timestamps[at];
}

// Returns the checkpoint of this prefix; nullptr if there is none. Files come sorted by name, so it is most likely the
// one found last.
DISTRIB_DECL auto find_checkpoint(std::vector<SavedCheckpoint>& list, std::string_view prefix) -> SavedCheckpoint* {
  for (std::size_t i = list.size(); i-- > 0;)
    if (list[i].prefix == prefix) return &list[i];
  return nullptr;
}

DISTRIB_DECL auto scan_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
  std::vector<SavedCheckpoint> found;
  std::error_code ec;
  std::vector<std::string> files = list_directory(directory, ec);
  std::sort(files.begin(), files.end());
  if (ec && ec != std::errc::no_such_file_or_directory)
    error = {checkpoint_errc::cannot_read, with_reason(directory, ec)};
  for (const std::string& file : files) {
    if (prefix_of_file(file).empty()) continue;
    std::string prefix = join_path(directory, prefix_of_file(file));
    SavedCheckpoint* checkpoint = find_checkpoint(found, prefix);
    if (checkpoint == nullptr) checkpoint = &found.emplace_back(SavedCheckpoint{std::move(prefix), {}});
    std::vector<std::string>& its_files = checkpoint->files;
    its_files.insert(file.ends_with(".index") ? its_files.begin() : its_files.end(), join_path(directory, file));
  }
  std::sort(found.begin(), found.end(), [](const SavedCheckpoint& a, const SavedCheckpoint& b) {
    const auto a_step = checkpoint_step(a.prefix);
    const auto b_step = checkpoint_step(b.prefix);
    return a_step == b_step ? a.prefix < b.prefix : a_step < b_step;
  });
  return found;
}

// Returns the checkpoint that the state file of `directory` names by this path: at this path, or, if the directory was
// moved, in the directory. `found`: what is in the directory. Returns nothing if the checkpoint does not exist.
DISTRIB_DECL auto find_named(const std::string& directory, std::vector<SavedCheckpoint>& found, const std::string& path)
    -> std::optional<SavedCheckpoint> {
  const std::string prefix = join_path(directory, path);
  if (const SavedCheckpoint* at = find_checkpoint(found, prefix)) return *at;
  const bool exists = checkpoint_exists(prefix);
  const std::string moved = join_path(directory, file_of(path));
  if (exists && absolute_path(prefix) != absolute_path(moved)) return SavedCheckpoint{prefix, {}};
  if (const SavedCheckpoint* at = find_checkpoint(found, moved)) return *at;
  if (exists || checkpoint_exists(moved)) return SavedCheckpoint{moved, {}};
  return std::nullopt;
}

// Returns the checkpoints with an index file, with their times.
DISTRIB_DECL auto with_index(std::vector<SavedCheckpoint> found) -> std::vector<SavedCheckpoint> {
  std::erase_if(found, [](const SavedCheckpoint& one) { return !one.files.front().ends_with(".index"); });
  for (SavedCheckpoint& one : found) one.timestamp = index_seconds(one);
  return found;
}

// Returns the error for a newest checkpoint `path` that does not exist; it says what `list` has instead.
DISTRIB_DECL auto stale_state(const std::string& directory, const std::string& path,
                              const std::vector<SavedCheckpoint>& list) -> Error {
  std::string there = "no checkpoint";
  if (!list.empty()) there = std::to_string(list.size()) + ", the newest " + std::string{file_of(list.back().prefix)};
  return {checkpoint_errc::stale_state, state_file_name(directory) + ": " + path + " (there: " + there + ")"};
}

}  // namespace detail

DISTRIB_DECL auto list_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
  const auto state = detail::read_checkpoint_state(directory, error);
  if (error.code == checkpoint_errc::not_found) error = {};
  auto found = detail::scan_checkpoints(directory, error);
  if (!state) return detail::with_index(std::move(found));

  std::vector<std::string> paths = state->all_model_checkpoint_paths;
  std::erase(paths, state->model_checkpoint_path);
  paths.push_back(state->model_checkpoint_path);
  std::vector<SavedCheckpoint> list;
  for (const std::string& path : paths) {
    auto named = detail::find_named(directory, found, path);
    if (!named) continue;
    std::erase_if(list, [&](const SavedCheckpoint& other) { return other.prefix == named->prefix; });
    SavedCheckpoint& saved = list.emplace_back(*std::move(named));
    const auto time = detail::timestamp_of(*state, path);
    saved.timestamp = time ? *time : detail::index_seconds(saved);
    saved.preserved = time && state->last_preserved_timestamp && *time <= *state->last_preserved_timestamp;
  }
  const std::string newest = detail::join_path(directory, paths.back());
  const bool has_newest = detail::find_checkpoint(found, newest) != nullptr || detail::checkpoint_exists(newest);
  if (list.empty()) list = detail::with_index(std::move(found));
  if (!has_newest && !error) error = detail::stale_state(directory, paths.back(), list);
  return list;
}

namespace detail {

DISTRIB_DECL auto newest_of(const std::string& directory, std::vector<Error>& refused,
                            const std::function<void(const BundleReader&, Error&)>& look)
    -> std::optional<BundleReader> {
  Error error;
  auto list = list_checkpoints(directory, error);
  if (error) refused.push_back(error);
  std::vector<SavedCheckpoint> all = with_index(scan_checkpoints(directory, error));
  std::erase_if(all, [&](const SavedCheckpoint& one) { return find_checkpoint(list, one.prefix) != nullptr; });
  all.insert(all.end(), list.begin(), list.end());  // tried from the end: what the state file names comes first
  for (std::size_t left = all.size(); left-- > 0;) {
    auto reader = BundleReader::open(all[left].prefix, error);
    if (reader) look(*reader, error);
    if (!error) return reader;
    refused.push_back(error);
  }
  return std::nullopt;
}

}  // namespace detail

DISTRIB_DECL auto newest_complete(const std::string& directory, std::vector<Error>& refused)
    -> std::optional<BundleReader> {
  return detail::newest_of(directory, refused, [](const BundleReader& reader, Error& error) { reader.verify(error); });
}

}  // namespace v0
}  // namespace distrib
