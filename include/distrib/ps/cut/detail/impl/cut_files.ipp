// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/detail/cut_files.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>

#include <map>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto find_cuts(const std::string& directory, std::string_view series, std::uint32_t shard,
                            std::uint32_t shards, Error& error) -> std::vector<FoundCut> {
  std::vector<FoundCut> list;
  for (const SavedCheckpoint& checkpoint : scan_checkpoints(directory, error)) {
    const std::string& prefix = checkpoint.prefix;
    const auto step = checkpoint_step(prefix);
    if (!step || prefix != join_path(directory, std::string{series} + "-" + std::to_string(*step))) continue;
    FoundCut found;
    found.step = static_cast<Step>(*step);
    found.prefix = prefix;
    std::vector<std::string> data;
    std::map<std::uint64_t, std::uint64_t> parts;
    for (const std::string& file : checkpoint.files) {
      const auto shard_file = parse_shard_file(file);
      if (shard_file && shard_file->part) {
        found.part_files.push_back(file);
        if (++parts[shard_file->shards] == shard_file->shards)
          found.complete.push_back(static_cast<std::uint32_t>(shard_file->shards));
      }
      found.has_index = found.has_index || file == index_file_name(prefix);
      found.own_part = found.own_part || file == part_file_name(prefix, shard, shards);
      found.own_data = found.own_data || file == data_file_name(prefix, shard, shards);
      (shard_file && !shard_file->part ? data : found.files).push_back(file);
    }
    found.files.insert(found.files.end(), data.begin(), data.end());
    list.push_back(std::move(found));
  }
  return list;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
