// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/table_gradients.hpp>

#include <distrib/ps/job/error.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto TableGradients::read(const ShardLayout& layout, ByteView contribution) -> std::error_code {
  keys_.resize(layout.tables().size());
  sent_.assign(layout.tables().size(), nullptr);
  rows_.assign(layout.tables().size(), {});
  const std::size_t dense = layout.gradient_block_bytes();
  if (layout.tables().empty()) return contribution.size() == dense ? std::error_code{} : ps_errc::wrong_size;
  if (contribution.size() < dense + sizeof(std::uint64_t)) return ps_errc::wrong_size;
  const auto key_bytes = load_le<std::uint64_t>(contribution.data() + dense);
  std::size_t at = dense + sizeof(std::uint64_t);
  if (key_bytes > contribution.size() - at) return ps_errc::wrong_size;
  if (!read_key_lists(contribution.subspan(at, key_bytes), keys_)) return ps_errc::unsorted_keys;
  at = detail::aligned_size(at + key_bytes);
  if (contribution.size() != at + gradient_rows_bytes(layout, keys_)) return ps_errc::wrong_size;
  for (std::size_t table = 0; table < keys_.size(); ++table) {
    const TableShare& share = layout.tables()[table];
    if (!share.owns_all(keys_[table])) return ps_errc::no_such_row;
    sent_[table] = contribution.data() + at;
    if (layout.wire_format() == FloatFormat::float32)
      rows_[table] = {reinterpret_cast<const float*>(sent_[table]), keys_[table].size() * share.info().dim};
    at += detail::aligned_size(gradient_row_bytes(layout, table, keys_[table].size()));
  }
  return {};
}

DISTRIB_DECL void TableGradients::decode(const ShardLayout& layout, std::span<float> floats) {
  for (std::size_t table = 0; table < keys_.size(); ++table) {
    const std::span<float> rows = floats.first(keys_[table].size() * layout.tables()[table].info().dim);
    if (!layout.int8_gradients()) decode_elements(layout.wire_format(), sent_[table], rows);
    else
      for (std::size_t row = 0, dim = layout.tables()[table].info().dim; row < keys_[table].size(); ++row)
        decode_int8_row(sent_[table] + row * int8_row_bytes(dim), rows.subspan(row * dim, dim));
    rows_[table] = rows;
    floats = floats.subspan(rows.size());
  }
}

DISTRIB_DECL ContributionLayout::ContributionLayout(const ShardLayout& layout, const KeyLists& keys)
    : dense_bytes_{layout.gradient_block_bytes()} {
  if (layout.tables().empty()) {
    size_bytes_ = dense_bytes_;
    return;
  }
  for (const std::vector<std::uint64_t>& list : keys) append_keys(list, keys_);
  size_bytes_ = detail::aligned_size(dense_bytes_ + sizeof(std::uint64_t) + keys_.size());
  for (std::size_t table = 0; table < keys.size(); ++table) {
    rows_.push_back(size_bytes_);
    size_bytes_ += detail::aligned_size(gradient_row_bytes(layout, table, keys[table].size()));
  }
}

DISTRIB_DECL void ContributionLayout::write_keys(std::span<std::byte> contribution) const {
  if (rows_.empty()) return;
  store_le<std::uint64_t>(contribution.data() + dense_bytes_, keys_.size());
  const std::span<std::byte> to = contribution.subspan(dense_bytes_ + sizeof(std::uint64_t));
  std::copy(keys_.begin(), keys_.end(), to.begin());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(keys_.size()),
            contribution.begin() + static_cast<std::ptrdiff_t>(rows_.front()), std::byte{0});
}

}  // namespace v0
}  // namespace distrib
