// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Weights of the rows that the last step touched, as they were before it. Memory is kept for the next step. Threads:
/// one at a time.
class PreviousRows {
 public:
  explicit PreviousRows(std::size_t dim) noexcept : dim_{dim} {}

  /// Takes memory for so many rows; those that it has stay.
  void reserve(std::size_t rows) {
    entries_.reserve(rows);
    weights_.reserve(rows * dim_);
  }
  void clear() noexcept {
    entries_.clear();
    weights_.clear();
  }
  /// A key that it does not have.
  void add(std::uint64_t key, const float* row) {
    entries_.push_back({key, weights_.size()});
    weights_.insert(weights_.end(), row, row + dim_);
  }
  /// Needed before `find` when keys were not added in order.
  void sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }

  /// Null: the step did not touch it.
  [[nodiscard]] auto find(std::uint64_t key) const noexcept -> const float* {
    const auto found =
        std::partition_point(entries_.begin(), entries_.end(), [key](const Entry& entry) { return entry.key < key; });
    return found == entries_.end() || found->key != key ? nullptr : weights_.data() + found->at;
  }

 private:
  struct Entry {
    std::uint64_t key;
    std::size_t at;
  };

  std::size_t dim_;
  std::vector<Entry> entries_;  // by key
  std::vector<float> weights_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
