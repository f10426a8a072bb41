// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/retention.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/io_action.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a plan is told of time. Seconds since 1970.
struct SaveTimes {
  double now = 0;  ///< 0: not told, and none is preserved then.
  std::optional<double> last_preserved = std::nullopt;  ///< `last_preserved_timestamp` of the state file.
};

/// Plans what follows when the index of `directory/name` has got its name: the state file that names it as the newest,
/// then the removal of those beyond `max_to_keep` that are not preserved, with all their files. Performs no I/O.
///
/// `saved`: what `list_checkpoints(directory)` tells. `writer`: see `plan_state_file`. Those that are preserved stay in
/// the state file, and stay preserved when `keep_checkpoint_every_n_hours` is 0 later. Of checkpoints without a
/// `last_preserved`, because nobody asked for it before or the state file was lost, the oldest is preserved.
[[nodiscard]] DISTRIB_DECL auto plan_keep_newest(std::string_view directory, std::string_view name,
                                                 std::vector<SavedCheckpoint> saved, const Retention& retention,
                                                 std::string_view writer = {}, SaveTimes times = {}) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/keep_newest.ipp>
#endif
