// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/row_digest.hpp>

#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What one shard exports of its share of a table: all rows, or those that have changed since the last export. A value.
struct ExportedRows {
  std::vector<std::uint64_t> keys;  ///< Keys of the rows, each once.
  std::vector<float> values;  ///< Their weights, `dim` floats each, rounded if they are exported as bfloat16.
  std::vector<std::uint64_t> gone;  ///< Keys that had a row at the last export and have none now, ascending.
  std::uint64_t rows = 0;  ///< Number of rows of the whole share.
  RowDigest digest;  ///< Of the whole share.
};

}  // namespace v0
}  // namespace distrib
