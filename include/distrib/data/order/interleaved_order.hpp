// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The order in which elements of several files are taken in turn, as TensorFlow's interleave defines it. There are
/// `cycle` slots; at its turn, a slot returns `block` elements of its file. An empty slot opens the next file in its
/// turn. The end of a file is noticed when one more element is needed; its slot then stays empty until its next turn.
///
/// Stored as stretches. Within a stretch the same files take turns, so any position is found in O(log files).
template <class Number> class Interleaving {
 public:
  Interleaving(std::span<const Number> lengths, Number cycle, Number block) {
    struct Slot {
      Number next = 0;
      Number end = 0;
      bool open = false;
    };
    std::vector<Slot> slots(static_cast<std::size_t>(std::min<Number>(cycle, lengths.size())));
    std::size_t opened = 0;
    Number first = 0;  // first element of the file that is opened next
    std::size_t open = 0;
    while (open > 0 || opened < lengths.size()) {
      if (open == slots.size() || opened == lengths.size()) {  // all rounds in which no file ends, at once
        Number rounds = ~Number{0};
        for (const Slot& slot : slots)
          if (slot.open) rounds = std::min(rounds, (slot.end - slot.next) / block);
        if (rounds > 0) {
          add_stretch(block);
          for (Slot& slot : slots) {
            if (!slot.open) continue;
            add_file(slot.next, rounds * block);
            slot.next += rounds * block;
          }
        }
      }
      for (Slot& slot : slots) {  // a round in which files may end and open
        if (!slot.open) {
          if (opened == lengths.size()) continue;
          slot = {first, first + lengths[opened], true};
          first = slot.end;
          ++opened;
          ++open;
        }
        const Number count = std::min(block, slot.end - slot.next);
        if (count > 0) {
          add_stretch(count);
          add_file(slot.next, count);
        }
        slot.next += count;
        if (count == block) continue;
        slot.open = false;
        --open;
      }
    }
  }

  [[nodiscard]] auto size() const noexcept -> Number { return size_; }

  /// Returns the number, across all files, of the element at `position`, which must be below `size()`.
  [[nodiscard]] auto operator()(Number position) const noexcept -> Number {
    const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), position,
                                        [](Number p, const Stretch& stretch) { return p < stretch.position; });
    const Stretch& stretch = *(after - 1);
    const std::size_t files = (after == stretches_.end() ? firsts_.size() : after->file) - stretch.file;
    const Number turn = (position - stretch.position) / stretch.block;
    const Number within = (position - stretch.position) % stretch.block;
    return firsts_[stretch.file + static_cast<std::size_t>(turn % files)] + turn / files * stretch.block + within;
  }

 private:
  struct Stretch {
    Number position;  // of the stretch's first element
    Number block;  // elements per turn
    std::size_t file;  // index in `firsts_` of the stretch's first file
  };

  void add_stretch(Number block) { stretches_.push_back({size_, block, firsts_.size()}); }
  void add_file(Number first, Number count) {
    firsts_.push_back(first);
    size_ += count;
  }

  std::vector<Stretch> stretches_;
  std::vector<Number> firsts_;  // number of the first element of each file in each stretch
  Number size_ = 0;
};

}  // namespace detail

/// An Order that takes elements of several files in turn. Up to `cycle_length` files are open, each in a slot, and each
/// returns `block_length` elements at its turn. After a file has ended, the next file takes its slot at the slot's next
/// turn. The order is TensorFlow's, and a function of the files' lengths alone. Uses no order below it: the files are
/// taken in their own order.
///
/// Memory: at most a few words times the number of files times the number of slots.
///
/// Errors: `bind` reports `data_errc::bad_interleave` unless both numbers are above 0.
template <class Below> class InterleavedOrder : public detail::StepsBelow<> {
 public:
  InterleavedOrder(const Below&, std::int64_t cycle_length, std::int64_t block_length)
      : cycle_{cycle_length}, block_{block_length} {}

  template <class Data> void bind(Data& data, Error& error) {
    if (cycle_ <= 0 || block_ <= 0) {
      error = {data_errc::bad_interleave, "interleave(" + std::to_string(cycle_) + ", " + std::to_string(block_) + ")"};
      return;
    }
    table_ = std::make_shared<const Table>(data.lengths(), static_cast<std::uint64_t>(cycle_),
                                           static_cast<std::uint64_t>(block_));
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return table_ ? table_->size() : 0; }
  [[nodiscard]] auto at(std::uint64_t, std::uint64_t position) const noexcept -> std::uint64_t {
    return (*table_)(position);
  }
  [[nodiscard]] auto plain() const -> InterleavedOrder { return *this; }
  [[nodiscard]] auto describe() const -> std::string {
    return " interleave=" + std::to_string(cycle_) + '/' + std::to_string(block_);
  }

 private:
  using Table = detail::Interleaving<std::uint64_t>;

  std::int64_t cycle_;
  std::int64_t block_;
  std::shared_ptr<const Table> table_;
};

}  // namespace v0
}  // namespace distrib
