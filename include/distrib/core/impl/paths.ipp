// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/paths.hpp>

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

}  // namespace detail
}  // namespace v0
}  // namespace distrib
