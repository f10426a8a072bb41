// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/detail/cut_files.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Reads the name of a file of a link. Returns nothing for any other name.
DISTRIB_DECL auto parse_link_file(std::string_view file) -> std::optional<FoundLink> {
  const auto of_shard = parse_shard_file(file);
  if (!of_shard) return std::nullopt;
  FoundLink link;
  link.prefix = of_shard->prefix;
  const auto step = checkpoint_step(of_shard->prefix);
  const auto root = checkpoint_step(series_of(of_shard->prefix));
  if (!step || !root || *root < 0 || *root >= *step) return std::nullopt;
  const std::string_view series = series_of(series_of(of_shard->prefix));
  link.is_first = series == std::string{CutFiles::links} + "-on";
  if (!link.is_first && series != std::string{CutFiles::links_of_second} + "-on") return std::nullopt;
  link.step = static_cast<Step>(*step);
  link.root = static_cast<Step>(*root);
  link.shards = static_cast<std::uint32_t>(of_shard->shards);
  const std::string_view numbers = file.substr(of_shard->prefix.size() + std::string_view{".data-"}.size());
  if (std::from_chars(numbers.data(), numbers.data() + numbers.size(), link.shard).ec != std::errc{})
    return std::nullopt;
  link.part = of_shard->part;
  link.data = !of_shard->part;
  return link;
}

DISTRIB_DECL auto find_links(const std::string& directory, Error& error) -> std::vector<FoundLink> {
  std::vector<FoundLink> list;
  for (const SavedCheckpoint& checkpoint : scan_checkpoints(directory, error)) {
    const std::size_t first = list.size();
    for (const std::string& file : checkpoint.files) {
      auto link = parse_link_file(file);
      if (!link) continue;
      const auto is_same = [&](const FoundLink& other) {
        return other.shard == link->shard && other.shards == link->shards;
      };
      const auto at = std::find_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), is_same);
      if (at == list.end()) {
        list.push_back(*std::move(link));
        continue;
      }
      at->part = at->part || link->part;
      at->data = at->data || link->data;
    }
  }
  return list;
}

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
