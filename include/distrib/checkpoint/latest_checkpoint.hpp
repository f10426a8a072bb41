// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/state_file.hpp>
#include <distrib/core/files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
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

/// Reads the state file of `directory`. Empty: `error` is `not_found`, `corrupt_state` or `cannot_read`, with its name.
template <class = void>
[[nodiscard]] auto read_checkpoint_state(std::string_view directory, Error& error) -> std::optional<CheckpointState> {
  constexpr std::uint64_t max_state_bytes = std::uint64_t{1} << 26;
  error = {};
  const std::string file = state_file_name(directory);
  std::vector<std::byte> bytes;
  if (!detail::read_file(file, max_state_bytes, checkpoint_errc::corrupt_state, bytes, error)) return std::nullopt;
  auto state = parse_checkpoint_state(as_text(bytes), error);
  if (error) error.where = file + ": " + error.where;
  return state;
}

/// The newest checkpoint that the state file of `directory` names, like `tf.train.latest_checkpoint`: its prefix, if
/// its index file exists. Empty, without a failure, when there is none or the state file is not readable. Looks at
/// names only; `newest_complete` looks into the files.
template <class = void> [[nodiscard]] auto latest_checkpoint(std::string_view directory) -> std::optional<std::string> {
  Error ignored;
  const auto state = read_checkpoint_state(directory, ignored);
  if (!state) return std::nullopt;
  std::string prefix = detail::join_path(directory, state->model_checkpoint_path);
  if (detail::path_exists(index_file_name(prefix))) return prefix;
  if (detail::path_exists(prefix)) return prefix;  // version 1: the file has the prefix as its name
  return std::nullopt;
}

namespace detail {

/// The prefix that a file belongs to: "c-1" of "c-1.index", "c-1.data-00000-of-00001" and "c-1.part-00000-of-00001";
/// empty for other files.
template <class = void> auto prefix_of_file(std::string_view file) -> std::string_view {
  if (file.starts_with(".saving.")) return {};
  if (file.ends_with(".index")) return file.substr(0, file.size() - 6);
  const auto shard_file = parse_shard_file(file);
  return shard_file ? shard_file->prefix : std::string_view{};
}

/// When the checkpoint of this path was saved, as `state` says.
inline auto timestamp_of(const CheckpointState& state, std::string_view path) noexcept -> std::optional<double> {
  const auto& paths = state.all_model_checkpoint_paths;
  const auto at = static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin());
  if (at >= state.all_model_checkpoint_timestamps.size()) return std::nullopt;
  return state.all_model_checkpoint_timestamps[at];
}

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

/// The checkpoint of this prefix; nullptr when there is none. Of files by name the newest found is the likeliest.
template <class = void>
auto find_checkpoint(std::vector<SavedCheckpoint>& list, std::string_view prefix) -> SavedCheckpoint* {
  for (std::size_t i = list.size(); i-- > 0;)
    if (list[i].prefix == prefix) return &list[i];
  return nullptr;
}

/// The checkpoints found in a directory, by the step in their names, those without one first; then by prefix. A
/// directory that is not there has none.
template <class = void>
auto scan_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
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

/// The checkpoints of `directory`, oldest first: those that its state file names, in its order; when there is no
/// readable state file, those with an index file, by the step in their names. Times are those of the state file, else
/// of the index files; those not after its `last_preserved_timestamp` are preserved. `error` is set when the directory
/// or a damaged state file could not be read; what was found is returned all the same.
template <class = void>
[[nodiscard]] auto list_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
  const auto state = read_checkpoint_state(directory, error);
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

/// Opens the newest checkpoint of `directory` of which every byte is right. Each one that is not is passed over, with
/// what is wrong with it added to `refused`; so is a damaged state file. Empty: there is no good one. When `refused` is
/// empty too, there never was one, and a job may start anew; otherwise ask before anything is overwritten.
template <class = void>
[[nodiscard]] auto newest_complete(const std::string& directory, std::vector<Error>& refused)
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
