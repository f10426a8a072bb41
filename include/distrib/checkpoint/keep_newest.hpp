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

/// The times that a plan needs. Seconds since 1970.
struct SaveTimes {
  double now = 0;  ///< 0: not known; then no further checkpoint is preserved.
  /// `last_preserved_timestamp` of the state file; empty: it has none.
  std::optional<double> last_preserved = std::nullopt;
};

/// Plans what follows when the index of `directory/name` has got its name: the state file that names it as the newest,
/// then the removal of all files of the checkpoints that are beyond `max_to_keep` and not preserved. Performs no I/O.
///
/// `saved`: as returned by `list_checkpoints(directory)`; checkpoints without files in the directory are no longer
/// named. `writer`: see `plan_state_file`. Preserved checkpoints stay in the state file, and stay preserved even if
/// `keep_checkpoint_every_n_hours` is 0 later. If `last_preserved` is empty, because it was not used before or the
/// state file was lost, the oldest checkpoint beyond `max_to_keep` is preserved, if `keep_checkpoint_every_n_hours` is
/// above 0.
[[nodiscard]] DISTRIB_DECL auto plan_keep_newest(std::string_view directory, std::string_view name,
                                                 std::vector<SavedCheckpoint> saved, const Retention& retention,
                                                 std::string_view writer = {}, SaveTimes times = {}) -> FilePlan;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/keep_newest.ipp>
#endif
