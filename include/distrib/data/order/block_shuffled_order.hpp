// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/permutation.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How elements are shuffled by blocks: see `DatasetSteps::shuffle`.
struct Blocks {
  std::uint64_t records = 1024;  ///< Neighbours that stay together in a block.
  std::uint64_t at_once = 64;  ///< Blocks whose elements are mixed with each other.
};

/// All elements, shuffled by blocks of neighbours: the blocks are permuted, then the elements of each `at_once` blocks
/// that follow each other are permuted among themselves. So storage is read block by block. Arithmetic, as
/// `ShuffledOrder`, with another order in each epoch. The elements behind the last whole block belong to the last group
/// of blocks.
///
/// Errors: `data_errc::no_end` if the elements never end; `bad_blocks` if a number is 0.
template <Order Below> class BlockShuffledOrder : public detail::StepsBelow<Below> {
 public:
  static constexpr bool shuffles = true;

  BlockShuffledOrder(Below below, std::uint64_t seed, const Blocks& blocks)
      : below_{std::move(below)}, seed_{seed}, by_{blocks} {}

  template <class Data> void bind(Data& data, Error& error) {
    below_.bind(data, error);
    if (!error && below_.size() == endless) error = {data_errc::no_end, "shuffle(" + std::to_string(seed_) + ")"};
    if (!error && (by_.records == 0 || by_.at_once == 0)) error = {data_errc::bad_blocks, text()};
    if (error) return;
    by_.records = std::min(by_.records, std::max<std::uint64_t>(size(), 1));
    whole_ = size() / by_.records;
    by_.at_once = std::min(by_.at_once, std::max<std::uint64_t>(whole_, 1));
    groups_ = whole_ == 0 ? 1 : (whole_ - 1) / by_.at_once + 1;
    blocks_ = Permutation{whole_, seed_, epoch_ = 0};
    take_group(0);
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return below_.size(); }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    const std::uint64_t group = group_of(position);
    const bool other = epoch != epoch_;
    if (other) blocks_ = Permutation{whole_, seed_, epoch_ = epoch};
    if (other || group != group_) take_group(group);
    const std::uint64_t element = elements_(position - group * by_.at_once * by_.records);
    const std::uint64_t block = group * by_.at_once + element / by_.records;
    const std::uint64_t stored = block < whole_ ? blocks_(block) : block;  // what is behind the last whole block stays
    return below_.at(epoch, stored * by_.records + element % by_.records);
  }
  [[nodiscard]] auto mixed_until(std::uint64_t position) const noexcept -> std::uint64_t {
    const std::uint64_t group = group_of(position);
    return group + 1 == groups_ ? size() : (group + 1) * by_.at_once * by_.records;
  }
  [[nodiscard]] auto plain() const { return below_.plain(); }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " shuffle=" + text(); }

 private:
  auto text() const -> std::string {
    return std::to_string(seed_) + " blocks=" + std::to_string(told_.records) + 'x' + std::to_string(told_.at_once);
  }

  auto group_of(std::uint64_t position) const noexcept -> std::uint64_t {
    return std::min(position / (by_.at_once * by_.records), groups_ - 1);
  }

  void take_group(std::uint64_t group) {
    group_ = group;
    const std::uint64_t first = group * by_.at_once * by_.records;
    const std::uint64_t count = group + 1 == groups_ ? size() - first : by_.at_once * by_.records;
    // Another sequence than that of the blocks, and for each group its own.
    elements_ = Permutation{count, seed_ ^ (0x9E37'79B9'7F4A'7C15 * (group + 1)), epoch_};
  }

  Below below_;
  std::uint64_t seed_;
  Blocks by_;  // no larger than the elements
  Blocks told_ = by_;  // as the caller said it
  std::uint64_t whole_ = 0;  // number of whole blocks
  std::uint64_t groups_ = 1;
  std::uint64_t epoch_ = 0;
  std::uint64_t group_ = 0;
  Permutation blocks_{0, 0, 0};  // the permutation of epoch_
  Permutation elements_{0, 0, 0};  // the permutation of group_
};

}  // namespace v0
}  // namespace distrib
