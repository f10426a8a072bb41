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

DISTRIB_DECL auto latest_checkpoint(std::string_view directory) -> std::optional<std::string> {
  Error ignored;
  const auto state = detail::read_checkpoint_state(directory, ignored);
  if (!state) return std::nullopt;
  std::string prefix = detail::join_path(directory, state->model_checkpoint_path);
  if (detail::path_exists(index_file_name(prefix))) return prefix;
  if (detail::path_exists(prefix)) return prefix;  // version 1: the file has the prefix as its name
  return std::nullopt;
}

namespace detail {

// The prefix that a file belongs to: "c-1" of "c-1.index", "c-1.data-00000-of-00001" and "c-1.part-00000-of-00001";
// empty for other files.
DISTRIB_DECL auto prefix_of_file(std::string_view file) -> std::string_view {
  if (file.starts_with(".saving.")) return {};
  if (file.ends_with(".index")) return file.substr(0, file.size() - 6);
  const auto shard_file = parse_shard_file(file);
  return shard_file ? shard_file->prefix : std::string_view{};
}

// When the checkpoint of this path was saved, as `state` says.
DISTRIB_DECL auto timestamp_of(const CheckpointState& state, std::string_view path) noexcept -> std::optional<double> {
  const auto& paths = state.all_model_checkpoint_paths;
  const auto at = static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin());
  if (at >= state.all_model_checkpoint_timestamps.size()) return std::nullopt;
  return state.all_model_checkpoint_timestamps[at];
}

// The checkpoint of this prefix; nullptr when there is none. Of files by name the newest found is the likeliest.
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

}  // namespace detail

DISTRIB_DECL auto list_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
  const auto state = detail::read_checkpoint_state(directory, error);
  if (error.code == checkpoint_errc::not_found) error = {};
  auto found = detail::scan_checkpoints(directory, error);

  std::vector<SavedCheckpoint> list;
  if (!state) {
    for (SavedCheckpoint& checkpoint : found) {
      if (!checkpoint.files.front().ends_with(".index")) continue;
      checkpoint.timestamp = detail::index_seconds(checkpoint);
      list.push_back(std::move(checkpoint));
    }
    return list;
  }
  std::vector<std::string> paths = state->all_model_checkpoint_paths;
  std::erase(paths, state->model_checkpoint_path);
  paths.push_back(state->model_checkpoint_path);
  for (const std::string& path : paths) {
    std::string prefix = detail::join_path(directory, path);
    const SavedCheckpoint* at = detail::find_checkpoint(found, prefix);
    SavedCheckpoint& saved = list.emplace_back(at != nullptr ? *at : SavedCheckpoint{std::move(prefix), {}});
    const auto time = detail::timestamp_of(*state, path);
    saved.timestamp = time ? *time : detail::index_seconds(saved);
    saved.preserved = time && state->last_preserved_timestamp && *time <= *state->last_preserved_timestamp;
  }
  return list;
}

DISTRIB_DECL auto newest_complete(const std::string& directory, std::vector<Error>& refused)
    -> std::optional<BundleReader> {
  Error error;
  const auto list = list_checkpoints(directory, error);
  if (error) refused.push_back(error);
  for (std::size_t left = list.size(); left-- > 0;) {
    auto reader = BundleReader::open(list[left].prefix, error);
    if (reader) reader->verify(error);
    if (!error) return reader;
    refused.push_back(error);
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace distrib
