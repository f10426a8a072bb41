// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/paths.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Largest number of data files of one checkpoint: their names have five digits.
inline constexpr std::size_t max_data_files = 99'999;

/// Returns "PREFIX.index".
[[nodiscard]] inline auto index_file_name(std::string_view prefix) -> std::string {
  return std::string{prefix} + ".index";
}

/// Returns "PREFIX.part-00000-of-00002": the name of the file that lists what the data file of the same numbers holds,
/// until the parts of all shards are merged into one index. TensorFlow has no such file.
[[nodiscard]] inline auto part_file_name(std::string_view prefix, std::size_t shard, std::size_t shards)
    -> std::string {
  return std::string{prefix} + ".part-" + detail::shard_of_shards(shard, shards);
}

/// Returns "DIRECTORY/NAME-STEP": where TensorFlow's savers put the checkpoint of a step; NAME is usually "model.ckpt".
[[nodiscard]] inline auto checkpoint_prefix(std::string_view directory, std::string_view name, std::int64_t step)
    -> std::string {
  return std::string{directory} + '/' + std::string{name} + '-' + std::to_string(step);
}

/// Returns the step at the end of a prefix: 1234 for "train/model.ckpt-1234"; nothing if it does not end with a step.
[[nodiscard]] DISTRIB_DECL auto checkpoint_step(std::string_view prefix) -> std::optional<std::int64_t>;

namespace detail {

/// Returns `path` relative to `directory`; both must be relative, or both absolute.
DISTRIB_DECL auto relative_path(std::string_view path, std::string_view directory) -> std::string;

/// What the name of a data or part file says.
struct ShardFile {
  std::string_view prefix;
  bool part = false;  ///< True for a part file, false for a data file.
  std::uint64_t shards = 0;
};

/// Reads the name of a data or part file; returns nothing for any other name.
DISTRIB_DECL auto parse_shard_file(std::string_view file) -> std::optional<ShardFile>;

/// Returns the prefix to which a file belongs: "c-1" for "c-1.index", "c-1.data-00000-of-00001" and
/// "c-1.part-00000-of-00001"; empty for other files, and for files that are being written.
DISTRIB_DECL auto prefix_of_file(std::string_view file) -> std::string_view;

/// Returns what the prefixes of one series share: "model.ckpt" for "train/model.ckpt-1234".
inline auto series_of(std::string_view prefix) -> std::string_view {
  const std::string_view base = file_of(prefix);
  return checkpoint_step(base) ? base.substr(0, base.rfind('-')) : base;
}

/// Returns the prefix under which files are written before they get their names. It has no step, so that the next save
/// overwrites what a killed save left behind, and such files do not accumulate.
inline auto temporary_prefix(std::string_view prefix) -> std::string {
  return join_path(directory_of(prefix), ".saving." + std::string{series_of(prefix)});
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/file_names.ipp>
#endif
