// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// What a reader does about damage, and how much damage it accepts. `BasicRecordReader::damage()` lists what was lost.
struct DamagePolicy {
  /// What a reader does when it meets damage.
  enum class OnDamage {
    stop,  ///< Fails, and says where.
    /// Continues after a damaged payload, if another header, or the end of the file, stands where the record's length
    /// says. Fails at any other damage.
    skip,
    /// As `skip`, but at any other damage searches for the next record. If no record follows, for example because the
    /// end of the file was cut off, the file ends there without a failure.
    salvage,
  };

  OnDamage action = OnDamage::stop;  ///< The reaction to damage.
  /// Most ranges that may be lost; one more, and the reader fails with `record_errc::too_much_damage`.
  std::uint64_t max_ranges = 1000;
  /// Most bytes that may be lost; with more, the reader fails in the same way.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// A range of a file whose records were lost.
struct Damage {
  std::uint64_t offset = 0;  ///< Where the range begins in the file; for a compressed file, in the inflated bytes.
  /// Length of the range: it ends where the next record was found, or at the end of the file. In a compressed file it
  /// counts only the bytes that could be inflated.
  std::uint64_t bytes = 0;
  std::uint64_t record = 0;  ///< Number of the range's first record. The whole range counts as one record.
  std::error_code code;  ///< What was found at `offset`.

  auto operator==(const Damage&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib
