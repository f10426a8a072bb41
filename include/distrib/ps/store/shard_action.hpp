// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/table_copy.hpp>

#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// What the shell of a shard must do after an event, in the order told: the replies of replies.hpp, and these. A core
// calls `out(action)` for each, so a shell is a set of overloads; it must not call the core back from there.

/// Call the core's `copy_cut` when other events have had their turn: a cut with tables is copied in pieces.
struct CopyCut {};
/// Make this cut durable, then tell the core with `cut_saved(step)`. At most one is under way at a time.
struct SaveCut {
  Cut cut;  ///< But its tables,
  std::vector<TableCopy> tables = {};  ///< which are still to be put in order.

  /// The cut. May take as long as sorting all keys of the tables.
  [[nodiscard]] auto finish() && -> Cut {
    for (TableCopy& table : tables) cut.tables.push_back(std::move(table).finish());
    return std::move(cut);
  }
};
/// Read the shard's cut of this step, then give it to the core with `cut_loaded`.
struct LoadCut {
  Step step = 0;
};
/// The protocol has no more use for the shard's cut of this step; the user's retention decides about its files.
struct DropCut {
  Step step = 0;
  bool in_vain =
      false;  ///< It waits for the others' cuts of this step, which do not come: not even the user can want it.
};
/// Read the shard's cut of this step and send it to the replica behind `peer`, which has asked for a newer state than its
/// own; 0: there is none.
struct SendState {
  Peer peer = 0;
  Step step = 0;
};
/// Every worker has said goodbye and the last cut is durable: the shard is done.
struct ShardDone {};

}  // namespace v0
}  // namespace distrib
