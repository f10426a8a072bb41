// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/table_cut.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// The state of one shard at a step: everything it needs to go on from there. Blocks are laid out by `ShardLayout`.
struct Cut {
  Step step = 0;                     ///< Synchronous: k. Asynchronous: contributions counted, of all ranks together.
  SharedBuffer values;
  std::vector<SharedBuffer> slots;  ///< Of each group of the layout, a block for each slot of its updater, in order.
  std::vector<Step> applied;  ///< Asynchronous: the last contribution counted of each rank. Else empty.
  std::vector<TableCut> tables = {};  ///< In the job's order.
  Lineage lineage = {};  ///< Synchronous: by which settings it was made; of step 0 and asynchronous none.
};

}  // namespace v0
}  // namespace distrib
