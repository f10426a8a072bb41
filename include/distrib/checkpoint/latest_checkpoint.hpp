// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/state_file.hpp>
#include <distrib/core/detail/files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// One checkpoint of a directory and the files it has there; `files` may be empty or incomplete.
struct SavedCheckpoint {
  std::string prefix;
  std::vector<std::string> files;  ///< Paths; the index file first, if there is one.
};

/// Reads the state file of `directory`. Empty: `error` is `not_found`, `corrupt_state` or `cannot_read`, with its name.
[[nodiscard]] inline auto read_checkpoint_state(std::string_view directory, Error& error)
    -> std::optional<CheckpointState> {
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
[[nodiscard]] inline auto latest_checkpoint(std::string_view directory) -> std::optional<std::string> {
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
inline auto prefix_of_file(std::string_view file) -> std::string_view {
  if (file.starts_with(".saving.")) return {};
  if (file.ends_with(".index")) return file.substr(0, file.size() - 6);
  const auto shard_file = parse_shard_file(file);
  return shard_file ? shard_file->prefix : std::string_view{};
}

/// The checkpoints found in a directory, by prefix. A directory that is not there has none.
inline auto scan_checkpoints(const std::string& directory, Error& error) -> std::map<std::string, SavedCheckpoint> {
  std::map<std::string, SavedCheckpoint> found;
  std::error_code ec;
  const std::vector<std::string> files = list_directory(directory, ec);
  if (ec && ec != std::errc::no_such_file_or_directory)
    error = {checkpoint_errc::cannot_read, with_reason(directory, ec)};
  for (const std::string& file : files) {
    const std::string_view prefix = prefix_of_file(file);
    if (prefix.empty()) continue;
    SavedCheckpoint& checkpoint = found[join_path(directory, prefix)];
    checkpoint.prefix = join_path(directory, prefix);
    checkpoint.files.push_back(join_path(directory, file));
  }
  for (auto& [prefix, checkpoint] : found)
    std::sort(checkpoint.files.begin(), checkpoint.files.end(), [](const std::string& a, const std::string& b) {
      const bool a_first = a.ends_with(".index");
      return a_first == b.ends_with(".index") ? a < b : a_first;
    });
  return found;
}

}  // namespace detail

/// The checkpoints of `directory`, oldest first: those that its state file names, in its order; when there is no
/// readable state file, those with an index file, by the step in their names. `error` is set when the directory or a
/// damaged state file could not be read; what was found is returned all the same.
[[nodiscard]] inline auto list_checkpoints(const std::string& directory, Error& error) -> std::vector<SavedCheckpoint> {
  const auto state = read_checkpoint_state(directory, error);
  if (error.code == checkpoint_errc::not_found) error = {};
  auto found = detail::scan_checkpoints(directory, error);

  std::vector<SavedCheckpoint> list;
  if (!state) {
    for (auto& [prefix, checkpoint] : found)
      if (checkpoint.files.front().ends_with(".index")) list.push_back(std::move(checkpoint));
    std::sort(list.begin(), list.end(), [](const SavedCheckpoint& a, const SavedCheckpoint& b) {
      const auto a_step = checkpoint_step(a.prefix);
      const auto b_step = checkpoint_step(b.prefix);
      return a_step == b_step ? a.prefix < b.prefix : a_step < b_step;
    });
    return list;
  }
  std::vector<std::string> paths = state->all_model_checkpoint_paths;
  std::erase(paths, state->model_checkpoint_path);
  paths.push_back(state->model_checkpoint_path);
  for (const std::string& path : paths) {
    std::string prefix = detail::join_path(directory, path);
    const auto at = found.find(prefix);
    list.push_back({prefix, at == found.end() ? std::vector<std::string>{} : at->second.files});
  }
  return list;
}

/// Opens the newest checkpoint of `directory` of which every byte is right. Each one that is not is passed over, with
/// what is wrong with it added to `refused`; so is a damaged state file. Empty: there is no good one. When `refused` is
/// empty too, there never was one, and a job may start anew; otherwise ask before anything is overwritten.
[[nodiscard]] inline auto newest_complete(const std::string& directory, std::vector<Error>& refused)
    -> std::optional<BundleReader> {
  Error error;
  const auto list = list_checkpoints(directory, error);
  if (error) refused.push_back(error);
  for (auto at = list.rbegin(); at != list.rend(); ++at) {
    auto reader = BundleReader::open(at->prefix, error);
    if (reader) reader->verify(error);
    if (!error) return reader;
    refused.push_back(error);
  }
  return std::nullopt;
}

}  // namespace distrib::inline v0
