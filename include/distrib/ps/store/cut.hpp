// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/table_cut.hpp>

#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The state of one shard at a step: all that the shard needs to continue from there. Blocks are laid out by
/// `ShardLayout`.
struct Cut {
  Step step = 0;  ///< Synchronous: k. Otherwise: contributions counted, of all ranks together.
  SharedBuffer values;  ///< The dense block: variables and counters.
  std::vector<SharedBuffer> slots;  ///< For each group of the layout one block per slot of its updater, in order.
  std::vector<Step> applied;  ///< Asynchronous: for each rank its last contribution counted. Synchronous: empty.
  std::vector<TableCut> tables = {};  ///< One for each table of the job, in the job's order.
  Lineage lineage = {};  ///< The settings that made it. Empty at step 0, in asynchronous jobs, and with backup workers.
  /// Empty: the cut is whole. Otherwise it is a link: `tables` have only what has changed since the cut of this step.
  std::optional<Step> base = {};
};

}  // namespace v0
}  // namespace distrib
