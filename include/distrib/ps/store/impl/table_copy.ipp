// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/table_copy.hpp>

#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/store/detail/radix_sort.hpp>

#include <memory>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void TableCopy::add(std::uint64_t key, KeyUse use, const float* row) {
  if (keys_.empty() || keys_.back().size() == keys_of_block) keys_.emplace_back().reserve(keys_of_block);
  keys_.back().push_back({key, {use, row == nullptr ? none : rows_}});
  if (row == nullptr) return;
  if (in_block(rows_) == 0) blocks_.push_back(AlignedBuffer::for_overwrite(layout_.row_bytes() << shift_));
  std::memcpy(blocks_.back().data() + in_block(rows_) * layout_.row_bytes(), row, layout_.row_bytes());
  ++rows_;
}

DISTRIB_DECL auto TableCopy::finish() && -> TableCut {
  const std::vector<Key> kept = in_order();
  const auto with_row = static_cast<std::size_t>(std::ranges::partition_point(kept, has_row) - kept.begin());
  auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(kept.size() * sizeof(std::uint64_t)));
  auto uses =
      std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(any_key_ ? kept.size() * sizeof(KeyUse) : 0));
  auto rows =
      std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(with_row * layout_.floats() * sizeof(float)));
  for (std::size_t i = 0; i < kept.size(); ++i) keys->as<std::uint64_t>()[i] = kept[i].first;
  for (std::size_t i = 0; i < kept.size() && any_key_; ++i) uses->as<KeyUse>()[i] = kept[i].second.use;
  for (std::size_t i = 0; i < with_row; ++i) {
    if (const std::size_t ahead = i + detail::table_window; ahead < with_row)  // rows lie in any order
      detail::prefetch_row(at(kept[ahead].second.row), layout_.row_bytes());
    packing_.unpack(at(kept[i].second.row), rows->as<float>().data() + i * layout_.floats());
  }
  SharedBuffer gone = gone_without(kept, with_row);
  *this = TableCopy{layout_, packing_, any_key_, 0};  // frees the memory of the copy
  return {std::move(keys), std::move(uses), std::move(rows), std::move(gone)};
}

DISTRIB_DECL auto TableCopy::gone_without(const std::vector<Key>& kept, std::size_t with_row) -> SharedBuffer {
  if (!gone_) return nullptr;
  std::vector<std::uint64_t>& keys = *gone_;
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(with_row);
  const auto has = [](auto first, auto last, std::uint64_t key) {
    const auto at = std::ranges::lower_bound(first, last, key, {}, &Key::first);
    return at != last && at->first == key;
  };
  std::erase_if(keys, [&](auto key) { return has(kept.begin(), middle, key) || has(middle, kept.end(), key); });
  auto gone = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(keys.size() * sizeof(std::uint64_t)));
  std::ranges::copy(keys, gone->as<std::uint64_t>().begin());
  return gone;
}

DISTRIB_DECL auto TableCopy::in_order() -> std::vector<Key> {
  std::vector<Key> keys;
  keys.reserve(keys_.size() * keys_of_block);
  for (std::vector<Key>& block : keys_) {
    keys.insert(keys.end(), block.begin(), block.end());
    block = {};
  }
  detail::radix_sort(keys);
  std::vector<Key> without;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i].first == keys[i - 1].first) continue;
    if (has_row(keys[i])) keys[kept++] = keys[i];
    else if (keys[i].second.use != KeyUse{}) without.push_back(keys[i]);
  }
  keys.resize(kept);
  keys.insert(keys.end(), without.begin(), without.end());
  return keys;
}

}  // namespace v0
}  // namespace distrib
