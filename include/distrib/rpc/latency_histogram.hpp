// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A histogram of durations up to 2199 s. A longer duration is counted in the last bucket; sum and maximum stay exact.
///
/// The buckets are log-linear (as in HdrHistogram): each power of two is divided into 8 buckets. So a quantile differs
/// from the exact one by at most 6.25 % for durations from 1 us on, and by at most 64 ns for shorter ones. To add a
/// duration takes a few instructions.
///
/// A value: 256 counters of 8 bytes, a sum and a maximum. Each thread has its own, and `+=` adds copies together.
class LatencyHistogram {
 public:
  /// Counts a duration; a negative one counts as 0.
  DISTRIB_DECL void add(std::chrono::nanoseconds time) noexcept;

  /// Returns how many durations were counted.
  [[nodiscard]] auto count() const noexcept -> std::uint64_t {
    std::uint64_t count = 0;
    for (const std::uint64_t in : counts_) count += in;
    return count;
  }

  /// Returns the sum of all durations; exact.
  [[nodiscard]] auto sum() const noexcept -> std::chrono::nanoseconds {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(sum_)};
  }

  /// Returns the longest duration; exact. 0 if there is none.
  [[nodiscard]] auto max() const noexcept -> std::chrono::nanoseconds {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(max_)};
  }

  /// Returns how many durations are shorter than `time`. Exact if `time` is 128 ns times a power of two, up to 1100 s;
  /// otherwise the durations in the bucket of `time` are not counted.
  [[nodiscard]] DISTRIB_DECL auto count_below(std::chrono::nanoseconds time) const noexcept -> std::uint64_t;

  /// Returns the quantile `q`: the middle of the first bucket for which it and the buckets before it contain at least a
  /// fraction `q` of all durations, and at least one. `q` is limited to 0..1. Returns 0 if there are no durations.
  [[nodiscard]] DISTRIB_DECL auto quantile(double q) const noexcept -> std::chrono::nanoseconds;

  /// Adds the counts of `other`, as if its calls had been counted here.
  DISTRIB_DECL auto operator+=(const LatencyHistogram& other) noexcept -> LatencyHistogram&;
  [[nodiscard]] auto operator==(const LatencyHistogram&) const -> bool = default;

  /// Writes the histogram as a message of Protocol Buffers: {1: sum, 2: maximum, both in nanoseconds; 3, repeated: a
  /// bucket that is not empty {1: its number, 2: its count}}.
  void encode(auto& message) const {
    message.varint(1, sum_);
    message.varint(2, max_);
    for (std::size_t at = 0; at < buckets; ++at)
      if (counts_[at] != 0)
        message.message(3, [&](auto& one) {
          one.varint(1, at);
          one.varint(2, counts_[at]);
        });
  }
  /// Reads such a message. Returns false if it cannot be decoded or has an unknown bucket; the contents are then
  /// unspecified.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;

 private:
  static constexpr int unit_bits = 7;  // the unit is 128 ns
  static constexpr int part_bits = 3;  // each power of two has 8 buckets
  static constexpr std::uint64_t parts = 1U << part_bits;
  static constexpr std::size_t buckets = 256;

  /// Returns the bucket of a duration in units. The first 16 buckets are one unit wide, each 8 buckets after them twice
  /// as wide as the 8 before.
  static constexpr auto bucket(std::uint64_t units) noexcept -> std::size_t {
    const int shift = std::max(static_cast<int>(std::bit_width(units)) - part_bits - 1, 0);
    const std::uint64_t at = (static_cast<std::uint64_t>(shift) << part_bits) + (units >> shift);
    return static_cast<std::size_t>(std::min<std::uint64_t>(at, buckets - 1));
  }

  /// Returns the shortest duration of a bucket, in units.
  static constexpr auto first(std::size_t bucket) noexcept -> std::uint64_t {
    if (bucket < 2 * parts) return bucket;
    const std::size_t shift = bucket / parts - 1;
    return (parts + bucket % parts) << shift;
  }

  auto take_bucket(auto reader) -> bool {
    std::uint64_t at = 0;
    std::uint64_t count = 0;
    while (reader.next()) switch (reader.tag()) {
        case wire_tag(1, WireType::varint): at = reader.uint64(); break;
        case wire_tag(2, WireType::varint): count = reader.uint64(); break;
      }
    if (!reader.ok() || at >= buckets) return false;
    counts_[static_cast<std::size_t>(at)] = count;
    return true;
  }

  std::uint64_t sum_ = 0;  // nanoseconds
  std::uint64_t max_ = 0;  // nanoseconds
  std::array<std::uint64_t, buckets> counts_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/latency_histogram.ipp>
#endif
