// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/roc_auc.hpp>

#include <distrib/core/rounded.hpp>

#include <cassert>
#include <limits>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void RocAuc::merge(const RocAuc& other) noexcept {
  assert(buckets_.size() == other.buckets_.size());
  for (std::size_t i = 0; i < std::min(buckets_.size(), other.buckets_.size()); ++i) {
    buckets_[i].positives += other.buckets_[i].positives;
    buckets_[i].negatives += other.buckets_[i].negatives;
  }
  outside_ += other.outside_;
}

DISTRIB_DECL auto RocAuc::value() const noexcept -> double {
  double positives = 0, negatives = 0, twice_area = 0;
  for (std::size_t i = buckets_.size(); i-- > 0;) {
    const auto right = static_cast<double>(buckets_[i].positives), wrong = static_cast<double>(buckets_[i].negatives);
    twice_area += detail::opaque(wrong * (positives + positives + right));
    positives += right;
    negatives += wrong;
  }
  if (outside_ > 0) return std::numeric_limits<double>::quiet_NaN();
  return positives > 0 && negatives > 0 ? twice_area / (2 * positives * negatives) : 0.0;
}

}  // namespace v0
}  // namespace distrib
