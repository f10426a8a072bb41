// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How damage is met, and how much of it. What is lost is listed by `BasicRecordReader::damage()`.
struct DamagePolicy {
  /// What a reader does about a record that is damaged.
  enum class OnDamage {
    stop,     ///< Fails, and names the place.
    skip,  ///< Goes on behind a payload that is damaged, when the next record, or the end of the file, stands where
    ///< its length says. Stops at everything else.
    salvage,  ///< Also looks for the next record behind a damaged header, and ends without a failure where nothing more
    ///< is found, behind a cut tail for instance.
  };

  OnDamage action = OnDamage::stop;
  /// Ranges that may be lost before the reader fails with `record_errc::too_much_damage`.
  std::uint64_t max_ranges = 1000;
  /// Bytes that may be lost, likewise.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// A range of a file whose records were lost.
struct Damage {
  std::uint64_t offset = 0;  ///< Where it begins in the file; of a compressed file, in what it inflates to.
  std::uint64_t bytes = 0;  ///< Its length, up to the next record that was found; see `record_errc` for the cause.
  std::uint64_t record = 0;  ///< The number that its first record has; the whole range counts as one.
  std::error_code code;  ///< What was found there.

  auto operator==(const Damage&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib
