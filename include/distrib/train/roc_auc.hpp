// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Area under the ROC curve (AUC) of scores: the probability that a positive example has a higher score than a negative
/// one. It is not a mean over examples, so batches are combined by adding their counts, not by averaging their areas.
///
/// Computed as `tf.keras.metrics.AUC(num_thresholds=thresholds)` does, by trapezoids between the points of the curve:
/// the thresholds are spread evenly over [0, 1], and scores between two neighbouring thresholds (one bucket) count as
/// equal. With more thresholds the result is nearer to the area of the scores themselves.
///
/// Memory: 16 bytes per threshold. A value. The result does not depend on the order of the examples, to the last bit.
class RocAuc {
 public:
  /// `thresholds`: number of thresholds, including the first one, 0, and the last one, 1. Below 2 it counts as 2.
  explicit RocAuc(std::uint32_t thresholds = 200) : buckets_(std::max(thresholds, 2U) - 1) {}

  /// Counts one example. If a score is NaN or outside [0, 1], `value()` is NaN from then on.
  void add(float score, bool positive) noexcept {
    if (!(score >= 0.0F && score <= 1.0F)) {
      ++outside_;
      return;
    }
    // Bucket i has the scores in (thresholds[i], thresholds[i + 1]]; the first bucket also has 0.
    const float place = score * static_cast<float>(buckets_.size());
    auto bucket = static_cast<std::size_t>(place);
    if (bucket > 0 && static_cast<float>(bucket) == place) --bucket;
    ++(positive ? buckets_[bucket].positives : buckets_[bucket].negatives);
  }

  /// Adds the counts of `other`, which must have the same number of thresholds (programmer error otherwise; asserted).
  DISTRIB_DECL void merge(const RocAuc& other) noexcept;

  /// Returns the area, from 0 to 1; 0.5 for scores without information. As in TensorFlow, 0 if positive or negative
  /// examples are missing. NaN if a score was outside [0, 1].
  [[nodiscard]] DISTRIB_DECL auto value() const noexcept -> double;

  [[nodiscard]] auto operator==(const RocAuc&) const noexcept -> bool = default;

 private:
  struct Bucket {
    std::uint64_t positives = 0, negatives = 0;

    [[nodiscard]] auto operator==(const Bucket&) const noexcept -> bool = default;
  };

  std::vector<Bucket> buckets_;
  std::uint64_t outside_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/roc_auc.ipp>
#endif
