// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/order/block_shuffled_order.hpp>
#include <distrib/data/order/interleaved_order.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/order_steps.hpp>
#include <distrib/data/order/selected_order.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The steps that say which elements of `Self` are used and in which order, named as in TensorFlow. Each call returns a
/// copy, of another type, with one more step. A step works on the elements that the steps before it return:
/// `shuffle(7).take(100)` takes a hundred of the shuffled elements, different ones in each epoch;
/// `take(100).shuffle(7)` always takes the first hundred. The calls read no data.
///
/// Errors: the calls do not fail. Wrong arguments are reported when the data are opened, with the name of the step.
///
/// `Self` has `order()`; `with_order(order)`, which returns the same data in another order; and `Element`, the type
/// that a predicate of `filter` gets.
template <class Self> class DatasetSteps {
 public:
  /// Takes the elements of several files in turn: `block_length` elements from each of `cycle_length` files at a time,
  /// in TensorFlow's deterministic order (see `InterleavedOrder`). Must be the first step.
  ///
  /// Errors: `data_errc::bad_interleave` unless both numbers are above 0.
  [[nodiscard]] auto interleave(std::int64_t cycle_length, std::int64_t block_length = 1) const {
    using Below = std::remove_cvref_t<decltype(self().order())>;
    constexpr bool comes_first = std::same_as<Below, WholeOrder>;
    static_assert(comes_first,
                  "distrib: interleave(...) mixes files, so it must be the first step, before shard, take, ...");
    if constexpr (comes_first)
      return self().with_order(InterleavedOrder<Below>{self().order(), cycle_length, block_length});
    else return self();
  }

  /// Keeps the elements whose position divided by `count` leaves the remainder `index`. If `count` workers use the
  /// indexes 0 .. count - 1, each element goes to exactly one worker, for any number of files. Not for the data of a
  /// trainer: it divides the batches among its workers by itself, and all of them must have the same data.
  ///
  /// Errors: `data_errc::bad_shard` unless `count` is above 0 and `index` is from 0 to count - 1.
  [[nodiscard]] auto shard(std::int64_t count, std::int64_t index) const { return then<ShardedOrder>(count, index); }

  /// Keeps at most the first `count` elements.
  [[nodiscard]] auto take(std::uint64_t count) const { return then<PartOfOrder>(std::uint64_t{0}, count); }

  /// Leaves out the first `count` elements.
  [[nodiscard]] auto skip(std::uint64_t count) const { return then<PartOfOrder>(count, endless); }

  /// Keeps the elements for which `predicate(const Element&)` is true. Opening the data reads each element once to find
  /// out, and stores 8 bytes for each element that is kept. Must come before `shuffle` and `repeat`. The predicate must
  /// be a pure function.
  ///
  /// Errors: opening the data fails at the first element that cannot be read; put `ignore_errors` before `filter` to
  /// skip such elements.
  template <class Predicate> [[nodiscard]] auto filter(Predicate predicate) const {
    constexpr bool fits = std::predicate<Predicate&, const typename Self::Element&>;
    static_assert(fits, "distrib: filter(...) takes a function of one example (const Example&) that returns bool");
    return select<detail::FilterRule<Predicate>, fits>({std::move(predicate)});
  }

  /// Skips elements that cannot be read, at most `at_most` of them. Opening the data reads each element once to find
  /// out, so every epoch has the same elements. The opened source lists what was skipped (`TfRecordSource::ignored`).
  /// A plain file with damaged headers is read into memory then (see `TfRecordDataset::max_inflated_bytes`). Each
  /// damaged range of such a file, or of a compressed file, counts as one element, also if `take`, `skip` or `shard`
  /// before this step leave that part of the file out. Must come before `shuffle` and `repeat`.
  ///
  /// Errors: `data_errc::too_many_errors` if more than `at_most` elements cannot be read. A server that does not answer is
  /// no damage: what reading reports.
  [[nodiscard]] auto ignore_errors(std::uint64_t at_most) const {
    return select<detail::IgnoreRule<std::uint64_t>, true>({at_most});
  }

  /// Shuffles all elements. The order is a function of `seed` and the epoch, so every epoch has another order. Takes no
  /// memory.
  ///
  /// Errors: `data_errc::no_end` if the elements never end. Call `shuffle` before `repeat`: then each epoch has every
  /// element once.
  [[nodiscard]] auto shuffle(std::uint64_t seed) const { return then<ShuffledOrder>(seed); }

  /// Shuffles by blocks of neighbours, for elements that are stored far away and are small: blocks of `records` elements
  /// are permuted, and the elements of `at_once` blocks are mixed with each other. So storage is read in blocks, and no
  /// local copy is needed. Less random than `shuffle(seed)`: what is stored together is used at about the same time.
  /// Every element once in each epoch, and another order in each, here too. Takes no memory. The order is in
  /// `describe()`.
  ///
  /// Errors: `data_errc::no_end` if the elements never end; `bad_blocks` if a number is 0.
  [[nodiscard]] auto shuffle(std::uint64_t seed, const Blocks& blocks) const {
    return then<BlockShuffledOrder>(seed, blocks);
  }

  /// Returns all elements `epochs` times; each pass is an epoch. 0: no elements.
  [[nodiscard]] auto repeat(std::uint64_t epochs) const { return then<RepeatedOrder>(epochs); }

  /// Returns all elements again and again, without end; each pass is an epoch.
  [[nodiscard]] auto repeat() const { return then<RepeatedOrder>(endless); }

  /// Appends the elements of `other`, which must be made from the same data. Trap: only the steps of `other` are used,
  /// not its files.
  ///
  /// Errors: `data_errc::no_end` if the elements of the first data set never end.
  template <class Other> [[nodiscard]] auto concatenate(const Other& other) const {
    using First = std::remove_cvref_t<decltype(self().order())>;
    using Then = std::remove_cvref_t<decltype(other.order())>;
    return self().with_order(ConcatenatedOrder<First, Then>{self().order(), other.order()});
  }

 private:
  auto self() const noexcept -> const Self& { return static_cast<const Self&>(*this); }

  template <template <class> class Step, class... Arguments> auto then(Arguments... arguments) const {
    using Below = std::remove_cvref_t<decltype(self().order())>;
    return self().with_order(Step<Below>{self().order(), arguments...});
  }

  template <class Rule, bool fits> auto select(Rule rule) const {
    using Below = std::remove_cvref_t<decltype(self().order())>;
    constexpr bool early = !Below::shuffles && !Below::repeats;
    static_assert(early,
                  "distrib: filter and ignore_errors come before shuffle and repeat: they look at each element once");
    if constexpr (fits && early) return self().with_order(SelectedOrder<Below, Rule>{self().order(), std::move(rule)});
    else return self();
  }
};

}  // namespace v0
}  // namespace distrib
