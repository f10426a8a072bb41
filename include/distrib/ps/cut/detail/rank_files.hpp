// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The file with which a shard keeps the log of the ranks, in the directory of its cuts: `.ranks-00003-of-00008`.
///
/// Threads: one at a time; `read` blocks.
class RankFiles {
 public:
  RankFiles(std::string directory, const Job& job, std::uint32_t shard)
      : directory_{std::move(directory)}, shard_{shard}, shards_{job.shards()} {}

  /// Returns the path of the shard's file.
  [[nodiscard]] DISTRIB_DECL auto path() const -> std::string;

  /// Returns what makes this file durable in place of the one before: whatever happens, one of the two is there, whole.
  [[nodiscard]] DISTRIB_DECL auto plan(const RankFile& file) const -> FilePlan;

  /// Reads the file of the shard, and those that a job with another number of shards has left: all their entries, and
  /// the highest of their horizons. Empty: there is no file. `error`: a file cannot be read, or is damaged
  /// (`checkpoint_errc::corrupt_data`): nobody knows what was told then.
  [[nodiscard]] DISTRIB_DECL auto read(Error& error) const -> std::optional<RankFile>;

 private:
  std::string directory_;
  std::uint32_t shard_;
  std::uint32_t shards_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/detail/impl/rank_files.ipp>
#endif
