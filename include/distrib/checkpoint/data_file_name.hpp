// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/paths.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Returns the name of the data file of shard `shard`, from 0, of `shards`: "PREFIX.data-00000-of-00002". Numbers above
/// 99999 take more digits; `shard` is not checked.
[[nodiscard]] inline auto data_file_name(std::string_view prefix, std::size_t shard, std::size_t shards)
    -> std::string {
  return std::string{prefix} + ".data-" + detail::shard_of_shards(shard, shards);
}

}  // namespace v0
}  // namespace distrib
