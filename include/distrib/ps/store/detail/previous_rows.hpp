// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The weights of the rows that the last step changed, as they were before it. Memory is kept for the next step.
///
/// Threads: one at a time.
class PreviousRows {
 public:
  explicit PreviousRows(std::size_t dim) noexcept : dim_{dim} {}

  /// Takes memory for `rows` rows; rows that are kept stay.
  void reserve(std::size_t rows) {
    entries_.reserve(rows);
    weights_.reserve(rows * dim_);
  }
  /// Forgets all rows; their memory stays.
  void clear() noexcept {
    entries_.clear();
    weights_.clear();
  }
  /// Adds the row of a key that is not here yet.
  void add(std::uint64_t key, const float* row) {
    entries_.push_back({key, weights_.size()});
    weights_.insert(weights_.end(), row, row + dim_);
  }
  /// Sorts by key. Needed before `find` unless keys were added in ascending order.
  void sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }

  /// Returns the weights of `key`; null if the step did not change its row. Valid until the next change.
  [[nodiscard]] auto find(std::uint64_t key) const noexcept -> const float* {
    const auto found =
        std::partition_point(entries_.begin(), entries_.end(), [key](const Entry& entry) { return entry.key < key; });
    return found == entries_.end() || found->key != key ? nullptr : weights_.data() + found->at;
  }

 private:
  struct Entry {
    std::uint64_t key;
    std::size_t at;  // index of the first weight in `weights_`
  };

  std::size_t dim_;
  std::vector<Entry> entries_;  // by key, once sorted
  std::vector<float> weights_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
