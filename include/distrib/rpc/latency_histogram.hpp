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

/// How long many things took, up to 2199 s; what took longer counts as that.
///
/// Log-linear (as HdrHistogram): each power of two is cut into 8, so that a quantile is at most 6.25 % away from the
/// exact one, from 1 us on; below, at most 64 ns. Adding takes a handful of instructions. A value of 2 KiB: each thread
/// has its own, and copies are put together by `+=`.
class LatencyHistogram {
 public:
  DISTRIB_DECL void add(std::chrono::nanoseconds time) noexcept;

  [[nodiscard]] auto count() const noexcept -> std::uint64_t {
    std::uint64_t count = 0;
    for (const std::uint64_t in : counts_) count += in;
    return count;
  }

  /// Of all times; exact.
  [[nodiscard]] auto sum() const noexcept -> std::chrono::nanoseconds {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(sum_)};
  }

  /// The longest; exact.
  [[nodiscard]] auto max() const noexcept -> std::chrono::nanoseconds {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(max_)};
  }

  /// How many took less than `time`; exact where that is 128 ns times a power of two, otherwise so many as took less than
  /// the bucket begins with that `time` is in.
  [[nodiscard]] DISTRIB_DECL auto count_below(std::chrono::nanoseconds time) const noexcept -> std::uint64_t;

  /// The time that a share of `q` (0..1) of all did not take longer than; 0 when there are none. The middle of its
  /// bucket.
  [[nodiscard]] DISTRIB_DECL auto quantile(double q) const noexcept -> std::chrono::nanoseconds;

  DISTRIB_DECL auto operator+=(const LatencyHistogram& other) noexcept -> LatencyHistogram&;
  [[nodiscard]] auto operator==(const LatencyHistogram&) const -> bool = default;

  /// As a message of Protocol Buffers: {1: sum, 2: max, in nanoseconds; 3: a bucket {1: its number, 2: how many}}, of
  /// those that are not empty.
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
  /// False: it does not decode, or has a bucket that there is not.
  [[nodiscard]] DISTRIB_DECL auto decode(ByteView message) -> bool;

 private:
  static constexpr int unit_bits = 7;  // times are counted by 128 ns
  static constexpr int part_bits = 3;
  static constexpr std::uint64_t parts = 1U << part_bits;
  static constexpr std::size_t buckets = 256;

  /// The first 8 are one unit wide, then each 8 are twice as wide as those before.
  static constexpr auto bucket(std::uint64_t units) noexcept -> std::size_t {
    const int shift = std::max(static_cast<int>(std::bit_width(units)) - part_bits - 1, 0);
    const std::uint64_t at = (static_cast<std::uint64_t>(shift) << part_bits) + (units >> shift);
    return static_cast<std::size_t>(std::min<std::uint64_t>(at, buckets - 1));
  }

  /// The least units of a bucket.
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
  std::uint64_t max_ = 0;  // likewise
  std::array<std::uint64_t, buckets> counts_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/latency_histogram.ipp>
#endif
