// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Names and existence of the files of one replica's cuts, and of the user's checkpoints, whose parts are the cuts of
/// the first replicas.
struct CutFiles {
  static constexpr std::string_view users = "model.ckpt";
  static constexpr std::string_view second_replicas = "replica-1.ckpt";

  CutFiles(std::string in, const Job& job, std::uint32_t replica)
      : directory{std::move(in)},
        series{replica < job.shards() ? users : second_replicas},
        shard{replica % job.shards()},
        shards{job.shards()},
        replicated{job.replicas > 1} {}

  /// True if its cuts are parts of the user's checkpoints.
  [[nodiscard]] auto is_first() const -> bool { return series == users; }

  static auto name_of(std::string_view of, Step step) { return std::string{of} + "-" + std::to_string(step); }
  [[nodiscard]] auto prefix_of(std::string_view of, Step step) const -> std::string {
    return join_path(directory, name_of(of, step));
  }
  [[nodiscard]] auto prefix_of(Step step) const -> std::string { return prefix_of(series, step); }
  static constexpr std::string_view links = "link";
  static constexpr std::string_view links_of_second = "replica-1.link";

  [[nodiscard]] auto link_series() const -> std::string_view { return is_first() ? links : links_of_second; }
  /// The prefix of a link of this shard, which stands on the whole cut of `root`.
  [[nodiscard]] auto link_prefix(Step root, Step step) const -> std::string {
    return prefix_of(name_of(std::string{link_series()} + "-on", root), step);
  }
  [[nodiscard]] auto users_prefix(Step step) const -> std::string { return prefix_of(users, step); }
  [[nodiscard]] auto own_data(const std::string& prefix) const -> std::string {
    return data_file_name(prefix, shard, shards);
  }
  [[nodiscard]] auto own_part(const std::string& prefix) const -> std::string {
    return part_file_name(prefix, shard, shards);
  }

  /// True if there is a complete checkpoint of this step.
  [[nodiscard]] auto has_index(Step step) const -> bool { return path_exists(index_file_name(users_prefix(step))); }
  [[nodiscard]] auto has_part(std::string_view of, Step step, std::uint32_t of_shard) const -> bool {
    return path_exists(part_file_name(prefix_of(of, step), of_shard, shards));
  }
  /// True if the first replica of each shard has its part of `step`. `any`: the second replica of a shard suffices.
  [[nodiscard]] auto has_all_parts(Step step, bool any) const -> bool {
    for (std::uint32_t of_shard = 0; of_shard < shards; ++of_shard)
      if (!has_part(users, step, of_shard) && !(any && has_part(second_replicas, step, of_shard))) return false;
    return true;
  }

  std::string directory;
  std::string_view series;
  std::uint32_t shard;
  std::uint32_t shards;
  bool replicated;
};

/// The files of one step in a directory, as one shard sees them.
struct FoundCut {
  Step step = 0;
  std::string prefix;
  /// Paths; the index first if it exists, data files last: the order in which to remove them.
  std::vector<std::string> files;
  bool has_index = false;
  bool own_part = false;
  bool own_data = false;
  std::vector<std::string> part_files;  ///< The part files of all shards.
  std::vector<std::uint32_t> complete;  ///< Each number of shards whose parts are all there.
};

/// The files of a link (`Cut::base`) of one shard: `SERIES-on-ROOT-STEP.*`, where ROOT is the step of the whole cut at
/// the end of its chain.
struct FoundLink {
  Step step = 0;
  Step root = 0;
  std::string prefix;
  bool is_first = false;  ///< Of the first replica of the shard.
  std::uint32_t shard = 0;
  std::uint32_t shards = 0;
  bool part = false;
  bool data = false;

  /// True if it may stand on the cut of `of`: that is not older than the whole cut, and older than the link.
  [[nodiscard]] auto needs(Step of) const noexcept -> bool { return part && root <= of && of < step; }
};

/// Finds the links of all shards and replicas in `directory`, steps ascending. Fails as `scan_checkpoints`.
DISTRIB_DECL auto find_links(const std::string& directory, Error& error) -> std::vector<FoundLink>;

/// Finds the files `SERIES-STEP.*` in `directory`. Returns one entry per step, steps ascending. `own_part` and
/// `own_data` say whether there are the files of shard `shard` of `shards`. Fails as `scan_checkpoints`.
DISTRIB_DECL auto find_cuts(const std::string& directory, std::string_view series, std::uint32_t shard,
                            std::uint32_t shards, Error& error) -> std::vector<FoundCut>;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/detail/impl/cut_files.ipp>
#endif
