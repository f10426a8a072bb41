// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/order/interleaved_order.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/order_steps.hpp>
#include <distrib/data/order/selected_order.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What can be said about the order of the elements of `Self`, in TensorFlow's words. Each call gives a copy of another
/// type with one step more, which works on what the steps before it give: `shuffle(7).take(100)` is a hundred elements
/// of the shuffled ones, other ones in each epoch; `take(100).shuffle(7)` always the first hundred. No step touches
/// data; wrong numbers are reported when the data are opened, with the step's name.
///
/// Self has `order()`, `with_order(order)` (itself over another order), and `Element`, what `filter` looks at.
template <class Self> class DatasetSteps {
 public:
  /// Elements of the files in turn, `block_length` from each of `cycle_length` files at a time, in TensorFlow's
  /// deterministic order (see `InterleavedOrder`). The first step, if any. `data_errc::bad_interleave`.
  [[nodiscard]] auto interleave(std::int64_t cycle_length, std::int64_t block_length = 1) const {
    using Below = std::remove_cvref_t<decltype(self().order())>;
    constexpr bool comes_first = std::same_as<Below, WholeOrder>;
    static_assert(comes_first,
                  "distrib: interleave(...) mixes files, so it is the first step, before shard, take, ...");
    if constexpr (comes_first)
      return self().with_order(InterleavedOrder<Below>{self().order(), cycle_length, block_length});
    else return self();
  }

  /// Elements whose position divided by `count` leaves `index`: each of `count` workers its own, none lost, none twice,
  /// however many files there are. `data_errc::bad_shard`.
  [[nodiscard]] auto shard(std::int64_t count, std::int64_t index) const { return then<ShardedOrder>(count, index); }

  /// At most the first `count` elements.
  [[nodiscard]] auto take(std::uint64_t count) const { return then<PartOfOrder>(std::uint64_t{0}, count); }

  /// All but the first `count` elements.
  [[nodiscard]] auto skip(std::uint64_t count) const { return then<PartOfOrder>(count, endless); }

  /// Elements for which `predicate(const Element&)` is true. Opening the data reads each once to find out, and notes 8
  /// bytes for each that stays. Before shuffle and repeat. The predicate must be a pure function.
  template <class Predicate> [[nodiscard]] auto filter(Predicate predicate) const {
    constexpr bool fits = std::predicate<Predicate&, const typename Self::Element&>;
    static_assert(fits, "distrib: filter(...) takes a function of one example (const Example&) that returns bool");
    return select<detail::FilterRule<Predicate>, fits>({std::move(predicate)});
  }

  /// Passes over elements that cannot be read, at most `at_most` of them; more are `data_errc::too_many_errors`.
  /// Opening the data reads each once to find out, so every epoch has the same elements; what was passed over is told
  /// by the source. Before shuffle and repeat.
  [[nodiscard]] auto ignore_errors(std::uint64_t at_most) const {
    return select<detail::IgnoreRule<std::uint64_t>, true>({at_most});
  }

  /// A shuffled order, another one in each epoch, that is a function of `seed`; takes no memory. Data that never end
  /// are `data_errc::no_end`: shuffle before repeat, and epochs stay apart.
  [[nodiscard]] auto shuffle(std::uint64_t seed) const { return then<ShuffledOrder>(seed); }

  /// Every element comes `epochs` times.
  [[nodiscard]] auto repeat(std::uint64_t epochs) const { return then<RepeatedOrder>(epochs); }

  /// Elements come again and again, for ever.
  [[nodiscard]] auto repeat() const { return then<RepeatedOrder>(endless); }

  /// After the elements of this those of `other`, which is made from the same data: its steps count, its files do not.
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
