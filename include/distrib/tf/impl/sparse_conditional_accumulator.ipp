// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tf/sparse_conditional_accumulator.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void SparseSum::merge(SparseGradient gradient) {
  merged_.clear();
  std::size_t old = 0;
  std::size_t fresh = 0;
  while (old < sum_.keys.size() || fresh < gradient.keys.size()) {
    const bool has_old =
        fresh == gradient.keys.size() || (old < sum_.keys.size() && sum_.keys[old] <= gradient.keys[fresh]);
    const bool has_fresh =
        old == sum_.keys.size() || (fresh < gradient.keys.size() && gradient.keys[fresh] <= sum_.keys[old]);
    const float* const row = gradient.rows.data() + fresh * row_size_;
    if (has_old) {
      merged_.append(sum_.keys[old], sum_.touched[old], sum_.values.data() + old * row_size_, row_size_);
      ++old;
    }
    if (has_old && has_fresh) {
      ++merged_.touched.back();
      add_row(merged_.values.data() + merged_.values.size() - row_size_, row, row_size_);
    } else if (has_fresh) {
      merged_.append(gradient.keys[fresh], 1, row, row_size_);
    }
    if (has_fresh) ++fresh;
  }
  std::swap(sum_, merged_);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
