// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/table_copy.hpp>

#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// What the shell of a shard must do after an event: the replies of replies.hpp, and the actions below. A core calls
// `out(action)` for each, in the order in which the shell must perform them. So a shell's sink is a set of overloads.
// Trap: it must not call the core from inside such a call.

/// Call the core's `copy_cut` after other events have had their turn: a cut with tables is copied in pieces.
struct CopyCut {};
/// Make this cut durable, then call the core's `cut_saved(step)`. At most one cut is being saved at a time.
struct SaveCut {
  Cut cut;  ///< All of the cut but its tables.
  std::vector<TableCopy> tables = {};  ///< The tables, whose keys are not sorted yet.

  /// Returns the whole cut. Sorts all keys of the tables, which takes time: not for a thread that others wait for.
  [[nodiscard]] auto finish() && -> Cut {
    for (TableCopy& table : tables) cut.tables.push_back(std::move(table).finish());
    return std::move(cut);
  }
};
/// Read the shard's cut of this step, then pass it to the core with `cut_loaded`.
struct LoadCut {
  Step step = 0;
};
/// The protocol no longer needs the shard's cut of this step. Its files are kept or removed as the user's retention
/// says.
struct DropCut {
  Step step = 0;
  /// True: the cut waited for the other shards' cuts of this step, which will never be made, so that not even the user
  /// can want it. Remove it whatever the retention says.
  bool unneeded = false;
};
/// Read the shard's cut of this step and send it to the replica behind `peer`, which has asked for a newer state than
/// its own. Step 0: answer that there is none.
struct SendState {
  Peer peer = 0;
  Step step = 0;
};
/// Every worker has said goodbye, and the last cut is durable: the shard has finished.
struct ShardDone {};

}  // namespace v0
}  // namespace distrib
