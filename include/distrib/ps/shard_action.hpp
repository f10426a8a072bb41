// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/messages.hpp>

#include <vector>

namespace distrib::inline v0 {

/// A shard's share of one table at a step. First the keys that have a row, by ascending key, then those that are only
/// counted, likewise.
struct TableCut {
  SharedBuffer keys;  ///< 64 bits each. Numbered keys: all that the shard has.
  SharedBuffer uses;  ///< A `KeyUse` each, two numbers of 32 bits: frequency, last use. Numbered keys: empty.
  SharedBuffer rows;  ///< [weights | slot 0 | slot 1 ...], `dim` floats each, of the keys that have a row; no gaps.
};

/// The state of one shard at a step: everything it needs to go on from there. Blocks are laid out by `ShardLayout`.
struct Cut {
  Step step = 0;                     ///< Synchronous: k. Asynchronous: contributions counted, of all ranks together.
  SharedBuffer values;
  std::vector<SharedBuffer> slots;   ///< Of each group of the layout, a block for each slot of its updater, in order.
  std::vector<Step> applied;         ///< Asynchronous: the last contribution counted of each rank. Else empty.
  std::vector<TableCut> tables = {};  ///< In the job's order.
};

// What the shell of a shard must do after an event, in the order told: the replies of messages.hpp, and these. A core
// calls `out(action)` for each, so a shell is a set of overloads; it must not call the core back from there.

/// Make this cut durable, then tell the core with `cut_saved(step)`. At most one is under way at a time.
struct SaveCut {
  Cut cut;
};
/// Read the shard's cut of this step, then give it to the core with `cut_loaded`.
struct LoadCut {
  Step step = 0;
};
/// The protocol has no more use for the shard's cut of this step; the user's retention decides about its files.
struct DropCut {
  Step step = 0;
  bool in_vain = false;  ///< It waits for the others' cuts of this step, which do not come: not even the user can want it.
};
/// Every worker has said goodbye and the last cut is durable: the shard is done.
struct ShardDone {};

}  // namespace distrib::inline v0
