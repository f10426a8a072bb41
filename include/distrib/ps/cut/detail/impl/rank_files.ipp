// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/detail/rank_files.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view rank_file_prefix = ".ranks-";
inline constexpr std::string_view rank_file_temporary = ".tmp";

// Returns nothing, and sets `error`, if the file cannot be read or is damaged.
DISTRIB_DECL auto read_rank_file(const std::string& path, Error& error) -> std::optional<RankFile> {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;  // more than a log can have
  std::error_code ec;
  const std::string bytes = read_up_to(path, most_bytes, ec);
  if (ec) {
    error = {ec, path};
    return std::nullopt;
  }
  auto file = parse_rank_file(as_bytes(std::string_view{bytes}));
  if (!file) error = {checkpoint_errc::corrupt_data, path};
  return file;
}

DISTRIB_DECL auto RankFiles::path() const -> std::string {
  return join_path(directory_, std::string{rank_file_prefix} + shard_of_shards(shard_, shards_));
}

DISTRIB_DECL auto RankFiles::plan(const RankFile& file) const -> FilePlan {
  const std::string whole = path();
  const std::string temporary = whole + std::string{rank_file_temporary};
  FilePlan plan;
  plan.push_back(FileAction::write(temporary, {}, to_bytes(file)));
  plan.push_back(FileAction::sync(temporary));
  plan.push_back(FileAction::rename(temporary, whole));
  plan.push_back(FileAction::sync_directory(directory_));
  return plan;
}

DISTRIB_DECL auto RankFiles::read(Error& error) const -> std::optional<RankFile> {
  std::error_code ec;
  std::vector<std::string> names = list_directory(directory_, ec);
  if (ec == std::errc::no_such_file_or_directory) return std::nullopt;  // nothing was written yet
  if (ec) error = {ec, directory_};
  std::ranges::sort(names);
  const std::string of_shards = shard_of_shards(0, shards_);
  const std::string same_number = of_shards.substr(of_shards.find("-of-"));
  const std::string own = std::string{rank_file_prefix} + shard_of_shards(shard_, shards_);
  std::optional<RankFile> all;
  for (const std::string& name : names) {
    const bool is_one = name.starts_with(rank_file_prefix) && !name.ends_with(rank_file_temporary);
    if (error || !is_one || (name.ends_with(same_number) && name != own)) continue;
    const auto other = read_rank_file(join_path(directory_, name), error);
    if (!other) break;
    if (!all) all.emplace();
    all->horizon = std::max(all->horizon, other->horizon);
    all->entries.insert(all->entries.end(), other->entries.begin(), other->entries.end());
    all->erased.insert(all->erased.end(), other->erased.begin(), other->erased.end());
  }
  return error ? std::nullopt : all;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
