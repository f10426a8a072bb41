// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/exported_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a shard exports at a step, copied from its store. A value.
struct TakenPart {
  Step step = 0;  ///< The step of the shard.
  std::uint64_t label = 0;  ///< Label of the part.
  std::string on;  ///< The part to which it is a delta; empty: it has all rows.
  bool on_written = false;  ///< It is a delta to the part that is written before it, whose name is not known yet.
  RowDigest state;  ///< Of all that the shard has, see `ExportPartWriter::state`.
  SharedBuffer dense;  ///< The dense block.
  std::vector<ExportedRows> tables;  ///< In the order of the job.

  /// Bytes of the rows, of the keys that are gone, and of the dense block.
  [[nodiscard]] DISTRIB_DECL auto size_bytes() const noexcept -> std::uint64_t;
};

/// Writes the parts of one shard. A value. Threads: const members from any thread.
class ExportPartWriter {
 public:
  /// `shard`: 0 .. `Job::shards()` - 1. `rows_as`: float32, or bfloat16 for the rows of all tables.
  DISTRIB_DECL ExportPartWriter(const Job& job, std::uint32_t shard, FloatFormat rows_as = FloatFormat::float32);

  /// Returns the digest of all that a shard has: of its dense block, and of its tables in the order of the job. Rows that
  /// are exported in another format are another state, because no part has rows of two formats.
  [[nodiscard]] DISTRIB_DECL static auto state(ByteView dense, std::span<const RowDigest> of_tables,
                                               FloatFormat rows_as = FloatFormat::float32) -> RowDigest;

  /// Returns the bytes of a part. Sorts keys, and needs the memory of the part once more. Fails as `write_log_part`.
  [[nodiscard]] DISTRIB_DECL auto write(const TakenPart& part, ErrorRef to) const -> std::vector<std::byte>;

  /// Returns the tables of a part as a vote names them.
  [[nodiscard]] DISTRIB_DECL auto tables(const TakenPart& part) const -> std::vector<LogTable>;

  [[nodiscard]] auto shard() const noexcept -> std::uint32_t { return layout_.shard(); }
  [[nodiscard]] auto shards() const noexcept -> std::uint32_t { return shards_; }

 private:
  struct Table {
    std::size_t number = 0;  // in the job
    LogTable settings;
    std::vector<LogRange> owned;
  };

  ShardLayout layout_;
  std::uint32_t shards_;
  std::vector<Table> tables_;  // in the order of their names
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/export_part.ipp>
#endif
