// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/rank_log.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The log of a shard, in a file of its own that is replaced as a whole: which ranks make which steps, or which keys go
/// after which steps. No Restore touches it.
struct RankFile {
  /// The horizon: no entry is taken any more that is from this step or an earlier one.
  Step horizon = 0;
  std::vector<SharedRankEntry> entries = {};  ///< All but the ranks that the job begins with.
  std::vector<ErasedKeys> erased = {};  ///< In a job whose keys may be erased (`Job::erases_keys`).
};

/// Writes an entry as the message `field` of `head`. Its fields are 1: `from`; 2: `number`; 3: `ranks` in runs, packed:
/// for each run how many ranks lie between it and the run before, and how many it has; of a `rate` that is not the one
/// of jobs whose rate never changed, 4: `from` and 5: `to` (fixed64, as doubles), 6: `steps` (left out when 0).
DISTRIB_DECL void encode_rank_entry(WireWriter& head, std::uint32_t field, const RankEntry& entry);

/// Reads what `encode_rank_entry` wrote. Null if the bytes do not decode, if there is no rank, or if there are more
/// than `most` ranks or one that is not below `max_job_ranks`. The rate is not checked: see `is_rank_entry`.
[[nodiscard]] DISTRIB_DECL auto decode_rank_entry(ByteView bytes, std::size_t most) -> SharedRankEntry;

/// Returns the bytes of a file. Layout, little-endian: 0 "drankfil" · 8 version u32 · 12 length n of the body u32 ·
/// 16 body, a protobuf message (1 horizon; 2 an entry, see `encode_rank_entry`, any number of times; 3 erased keys, see
/// `encode_erased_keys`, any number of times) · 16 + n CRC-32C of all bytes before.
[[nodiscard]] DISTRIB_DECL auto to_bytes(const RankFile& file) -> std::vector<std::byte>;

/// Reads such bytes. Empty: they are damaged, of a newer version, or have more than a log may have.
[[nodiscard]] DISTRIB_DECL auto parse_rank_file(ByteView bytes) -> std::optional<RankFile>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rank_file.ipp>
#endif
