// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/paths.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto shard_of_shards(std::size_t shard, std::size_t shards) -> std::string {
  const auto digits = [](std::size_t number) {
    std::string text = std::to_string(number);
    text.insert(0, text.size() < 5 ? 5 - text.size() : 0, '0');
    return text;
  };
  return digits(shard) + "-of-" + digits(shards);
}

// Returns how many characters of `name` are a scheme and "://"; 0: it has no scheme.
DISTRIB_DECL auto scheme_of_url(std::string_view name) noexcept -> std::size_t {
  constexpr std::string_view in_schemes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  const std::size_t end = name.find_first_not_of(in_schemes);
  return end != 0 && end != std::string_view::npos && name.substr(end).starts_with("://") ? end + 3 : 0;
}

DISTRIB_DECL auto shown_url(std::string_view url) -> std::string {
  const std::string_view scheme = url.substr(0, scheme_of_url(url));
  std::string_view rest = url.substr(scheme.size());
  // If what looks like a port is none, it may be a password with one of these characters in it: look behind them too.
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::size_t port = rest.substr(0, end).rfind(':');
  const bool is_port = port == std::string_view::npos || rest[end - 1] == ']' ||
                       rest.substr(0, end).find_first_not_of("0123456789", port + 1) == std::string_view::npos;
  if (!is_port) end = rest.size();
  const std::size_t at = rest.substr(0, end).rfind('@');
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  if (!scheme.ends_with("hdfs://")) rest = rest.substr(0, rest.find_first_of("?#"));
  return std::string{scheme} + std::string{rest};
}

DISTRIB_DECL auto shown_name(std::string_view name) -> std::string {
  return scheme_of_url(name) == 0 ? std::string{name} : shown_url(name);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
