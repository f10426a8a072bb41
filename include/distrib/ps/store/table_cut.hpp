// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

namespace distrib {
inline namespace v0 {

/// A shard's share of one table at a step. First the keys that have a row, by ascending key, then those that are only
/// counted, likewise. All null: the table is as it was at first.
struct TableCut {
  SharedBuffer keys;  ///< 64 bits each. Numbered keys: all that the shard has.
  SharedBuffer uses;  ///< A `KeyUse` each, two numbers of 32 bits: frequency, last use. Numbered keys: empty.
  SharedBuffer rows;  ///< [weights | slot 0 | slot 1 ...], `dim` floats each, of the keys that have a row; no gaps.
};

}  // namespace v0
}  // namespace distrib
