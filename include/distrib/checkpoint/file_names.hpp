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

/// Largest number of data files of one checkpoint: their names have room for five digits.
inline constexpr std::size_t max_data_files = 99'999;

/// "PREFIX.index".
[[nodiscard]] inline auto index_file_name(std::string_view prefix) -> std::string {
  return std::string{prefix} + ".index";
}

/// "PREFIX.part-00000-of-00002": what the data file of the same numbers holds, until the parts of all shards are merged
/// into one index. TensorFlow has no such file.
[[nodiscard]] inline auto part_file_name(std::string_view prefix, std::size_t shard, std::size_t shards)
    -> std::string {
  return std::string{prefix} + ".part-" + detail::shard_of_shards(shard, shards);
}

/// "DIRECTORY/NAME-STEP": where TensorFlow's savers put the checkpoint of a step; NAME is "model.ckpt" by custom.
[[nodiscard]] inline auto checkpoint_prefix(std::string_view directory, std::string_view name, std::int64_t step)
    -> std::string {
  return std::string{directory} + '/' + std::string{name} + '-' + std::to_string(step);
}

/// The step at the end of a prefix: 1234 of "train/model.ckpt-1234"; empty when it ends otherwise.
[[nodiscard]] DISTRIB_DECL auto checkpoint_step(std::string_view prefix) -> std::optional<std::int64_t>;

namespace detail {

/// `path` as seen from `directory`; both relative or both absolute.
DISTRIB_DECL auto relative_path(std::string_view path, std::string_view directory) -> std::string;

/// A data or part file, by its name.
struct ShardFile {
  std::string_view prefix;
  bool part = false;  ///< Else it is a data file.
  std::uint64_t shards = 0;
};

/// Empty: `file` is the name of something else.
DISTRIB_DECL auto parse_shard_file(std::string_view file) -> std::optional<ShardFile>;

/// The prefix that a file belongs to: "c-1" of "c-1.index", "c-1.data-00000-of-00001" and "c-1.part-00000-of-00001";
/// empty for other files, and those that are being written.
DISTRIB_DECL auto prefix_of_file(std::string_view file) -> std::string_view;

/// What the checkpoints of one series share: "model.ckpt" of "train/model.ckpt-1234".
inline auto series_of(std::string_view prefix) -> std::string_view {
  const std::string_view base = file_of(prefix);
  return checkpoint_step(base) ? base.substr(0, base.rfind('-')) : base;
}

/// Where a file is written before it gets its name. The step is left out, so that what a killed save leaves behind is
/// overwritten by the next one and does not pile up.
inline auto temporary_prefix(std::string_view prefix) -> std::string {
  return join_path(directory_of(prefix), ".saving." + std::string{series_of(prefix)});
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/file_names.ipp>
#endif
