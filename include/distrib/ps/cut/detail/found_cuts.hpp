// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a directory has of one step, as one shard sees it.
struct FoundCut {
  Step step = 0;
  std::string prefix;
  std::vector<std::string> files;        ///< Paths; the index first, if there is one, data last: to be removed so.
  bool has_index = false;
  bool own_part = false;
  bool own_data = false;
  std::vector<std::string> part_files;   ///< Of all shards.
  std::vector<std::uint32_t> complete;   ///< Numbers of shards of which every part is there.
};

/// The steps of which `directory` has files `SERIES-STEP.*`, ascending.
DISTRIB_DECL auto find_cuts(const std::string& directory, std::string_view series, std::uint32_t shard,
                            std::uint32_t shards, Error& error) -> std::vector<FoundCut>;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/detail/impl/found_cuts.ipp>
#endif
