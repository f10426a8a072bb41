// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

namespace distrib {
inline namespace v0 {

/// A shard's share of one table at a step: first the keys that have a row, then those that are only counted; each group
/// ascends. All buffers null: the table is in its initial state.
struct TableCut {
  SharedBuffer keys;  ///< 64 bits for each key. Numbered keys: all that the shard has.
  SharedBuffer uses;  ///< A `KeyUse` for each key, two numbers of 32 bits: frequency, last use. Numbered keys: empty.
  SharedBuffer rows;  ///< [weights | slot 0 | slot 1 ...] of each key that has a row, `dim` floats each; no gaps.
  /// Null, or in a link (`Cut::base`) the keys that the table may have had in the base and has no more; 64 bits for
  /// each, ascending. The other buffers of a link have the keys that may have changed since the base.
  SharedBuffer gone = {};
};

}  // namespace v0
}  // namespace distrib
