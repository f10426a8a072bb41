// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The area under the ROC curve (AUC) of scores: how likely it is that a positive example has a higher score than a
/// negative one. It is no mean over examples, so a batch's counts are joined, not its area.
///
/// Counted as `tf.keras.metrics.AUC(num_thresholds=thresholds)` does, trapezoids between the curve's points: scores of
/// one bucket, between two neighbours of thresholds that are spread evenly over [0, 1], count as equal. The more
/// thresholds, the nearer to the area of the scores themselves. Memory: 16 bytes a threshold. A value; the same bits in
/// whatever order examples came.
class RocAuc {
 public:
  /// `thresholds` >= 2, with 0 and 1.
  explicit RocAuc(std::uint32_t thresholds = 200) : buckets_(std::max(thresholds, 2U) - 1) {}

  /// Counts one example. A score that is not within [0, 1] makes the area not a number.
  void add(float score, bool positive) noexcept {
    if (!(score >= 0.0F && score <= 1.0F)) {
      ++outside_;
      return;
    }
    // Bucket i has the scores of (thresholds[i], thresholds[i + 1]], the first one 0 too.
    const float place = score * static_cast<float>(buckets_.size());
    auto bucket = static_cast<std::size_t>(place);
    if (bucket > 0 && static_cast<float>(bucket) == place) --bucket;
    ++(positive ? buckets_[bucket].positives : buckets_[bucket].negatives);
  }

  /// Adds the counts of `other`, which has as many thresholds.
  DISTRIB_DECL void merge(const RocAuc& other) noexcept;

  /// From 0 to 1; 0.5 for scores that tell nothing. 0, as TensorFlow has it, without examples of both kinds.
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
