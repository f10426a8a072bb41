// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/histogram.hpp>

#include <distrib/summary/event.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Histogram::buckets() const -> std::vector<Bucket> {
  std::vector<Bucket> found;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0 && !found.empty() && found.back().count == 0) found.back().limit = detail::histogram_limits[i];
    else found.push_back({detail::histogram_limits[i], counts_[i]});
  }
  return found;
}

DISTRIB_DECL void write_histogram_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                        const Histogram& histogram) {
  const auto buckets = histogram.buckets();
  detail::write_summary(out, wall_time, step, tag, [&](WireWriter& value) {
    value.message(5, [&](WireWriter& histo) {
      histo.float64(1, histogram.min());
      histo.float64(2, histogram.max());
      histo.float64(3, histogram.count());
      histo.float64(4, histogram.sum());
      histo.float64(5, histogram.sum_squares());
      histo.message(6, [&](WireWriter& limits) {
        for (const auto& bucket : buckets) limits.raw_number(bucket.limit);
      });
      histo.message(7, [&](WireWriter& counts) {
        for (const auto& bucket : buckets) counts.raw_number(bucket.count);
      });
    });
  });
}

}  // namespace v0
}  // namespace distrib
