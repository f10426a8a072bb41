// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/file_names.hpp>

#include <distrib/core/shortest_text.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto checkpoint_step(std::string_view prefix) -> std::optional<std::int64_t> {
  const std::size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto step = detail::parse_whole<std::int64_t>(prefix.substr(dash + 1));
  return step >= 0 ? step : std::nullopt;
}

namespace detail {

// Returns the parts of a path, without "." and with ".." resolved where possible.
DISTRIB_DECL auto path_parts(std::string_view path) -> std::vector<std::string_view> {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = cut_before(path, '/');
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") parts.pop_back();
    else parts.push_back(part);
  }
  return parts;
}

DISTRIB_DECL auto relative_path(std::string_view path, std::string_view directory) -> std::string {
  const auto to = path_parts(path);
  const auto from = path_parts(directory);
  std::size_t shared = 0;
  while (shared < to.size() && shared < from.size() && to[shared] == from[shared]) ++shared;
  std::string result;
  for (std::size_t i = shared; i < from.size(); ++i) result += "../";
  for (std::size_t i = shared; i < to.size(); ++i) (result += to[i]) += '/';
  if (result.empty()) return ".";
  result.pop_back();
  return result;
}

DISTRIB_DECL auto parse_shard_file(std::string_view file) -> std::optional<ShardFile> {
  constexpr std::size_t tail = std::string_view{".data-00000-of-00001"}.size();
  if (file.size() < tail) return std::nullopt;
  const std::string_view kind = file.substr(file.size() - tail, 6);
  const bool part = kind == ".part-";
  const auto shard = parse_whole<std::uint64_t>(file.substr(file.size() - 14, 5));
  const auto shards = parse_whole<std::uint64_t>(file.substr(file.size() - 5));
  if ((!part && kind != ".data-") || file.substr(file.size() - 9, 4) != "-of-") return std::nullopt;
  if (!shard || !shards || *shard >= *shards) return std::nullopt;
  return ShardFile{file.substr(0, file.size() - tail), part, *shards};
}

DISTRIB_DECL auto prefix_of_file(std::string_view file) -> std::string_view {
  constexpr std::string_view index = ".index";
  if (file_of(file).starts_with(".saving.")) return {};
  if (file.ends_with(index)) return file.substr(0, file.size() - index.size());
  const auto shard_file = parse_shard_file(file);
  return shard_file ? shard_file->prefix : std::string_view{};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
