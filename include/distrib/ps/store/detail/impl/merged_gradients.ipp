// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/detail/merged_gradients.hpp>

#include <distrib/ps/rows/row_math.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void MergedGradients::merge(std::span<const TableGradients* const> of_ranks, std::size_t table,
                                         std::size_t dim, RowMean mean) {
  dim_ = dim;
  divisor_ = mean == RowMean::of_all ? of_ranks.size() : 0;
  const auto has_keys = [table](const TableGradients* one) { return !one->keys(table).empty(); };
  const auto first = std::ranges::find_if(of_ranks, has_keys);
  only_ = nullptr;
  keys_ = {};
  if (first == of_ranks.end()) return;
  if (divisor_ <= 1 && std::none_of(first + 1, of_ranks.end(), has_keys)) {
    keys_ = (*first)->keys(table);
    only_ = (*first)->rows(table).data();
    return;
  }
  entries_.clear();
  ends_.clear();
  for (const TableGradients* one : of_ranks) {
    const float* row = one->rows(table).data();
    for (const std::uint64_t key : one->keys(table)) {
      entries_.push_back({key, row});
      row += dim;
    }
    if (has_keys(one)) ends_.push_back(entries_.size());
  }
  while (ends_.size() > 1) merge_neighbours();
  unique_.clear();
  begins_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!unique_.empty() && unique_.back() == entries_[i].key) continue;
    unique_.push_back(entries_[i].key);
    begins_.push_back(i);
  }
  begins_.push_back(entries_.size());
  keys_ = unique_;
}

DISTRIB_DECL void MergedGradients::write_row(std::size_t i, float* to) const noexcept {
  if (only_ != nullptr) {
    std::copy_n(only_ + i * dim_, dim_, to);
    return;
  }
  const std::size_t count = begins_[i + 1] - begins_[i];
  const Entry* const of_key = entries_.data() + begins_[i];
  std::copy_n(of_key[0].row, dim_, to);
  for (std::size_t n = 1; n < count; ++n) add_row(to, of_key[n].row, dim_);
  const std::size_t divisor = divisor_ != 0 ? divisor_ : count;
  if (divisor != 1) divide_row(to, static_cast<float>(divisor), dim_);
}

DISTRIB_DECL void MergedGradients::merge_neighbours() {
  merged_.resize(entries_.size());
  Entry* to = merged_.data();
  std::size_t begin = 0;
  std::size_t runs = 0;
  for (std::size_t n = 0; n < ends_.size(); n += 2) {
    const Entry* a = entries_.data() + begin;
    const Entry* const a_end = entries_.data() + ends_[n];
    const Entry* b = a_end;
    const Entry* const b_end = n + 1 < ends_.size() ? entries_.data() + ends_[n + 1] : a_end;
    while (a != a_end && b != b_end) {
      const bool is_b = b->key < a->key;
      *to++ = *(is_b ? b : a);
      a += is_b ? 0 : 1;
      b += is_b ? 1 : 0;
    }
    to = std::copy(b, b_end, std::copy(a, a_end, to));
    begin = static_cast<std::size_t>(b_end - entries_.data());
    ends_[runs++] = begin;
  }
  ends_.resize(runs);
  entries_.swap(merged_);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
