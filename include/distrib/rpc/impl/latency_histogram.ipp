// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/latency_histogram.hpp>

#include <cmath>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void LatencyHistogram::add(std::chrono::nanoseconds time) noexcept {
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  ++counts_[bucket(nanoseconds >> unit_bits)];
  sum_ += nanoseconds;
  max_ = std::max(max_, nanoseconds);
}

DISTRIB_DECL auto LatencyHistogram::count_below(std::chrono::nanoseconds time) const noexcept -> std::uint64_t {
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  std::uint64_t below = 0;
  for (std::size_t at = 0; at < bucket(nanoseconds >> unit_bits); ++at) below += counts_[at];
  return below;
}

DISTRIB_DECL auto LatencyHistogram::quantile(double q) const noexcept -> std::chrono::nanoseconds {
  const std::uint64_t all = count();
  if (all == 0) return {};
  const double wanted = std::max(1.0, std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(all)));
  std::uint64_t before = 0;
  std::size_t at = 0;
  while (at + 1 < buckets && static_cast<double>(before + counts_[at]) < wanted) before += counts_[at++];
  return std::chrono::nanoseconds{static_cast<std::int64_t>(((first(at) + first(at + 1)) << unit_bits) / 2)};
}

DISTRIB_DECL auto LatencyHistogram::operator+=(const LatencyHistogram& other) noexcept -> LatencyHistogram& {
  for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  return *this;
}

DISTRIB_DECL auto LatencyHistogram::decode(ByteView message) -> bool {
  *this = {};
  WireReader reader{message};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): sum_ = reader.uint64(); break;
      case wire_tag(2, WireType::varint): max_ = reader.uint64(); break;
      case wire_tag(3, WireType::bytes):
        if (!take_bucket(WireReader{reader.bytes()})) return false;
        break;
    }
  return reader.ok();
}

}  // namespace v0
}  // namespace distrib
