// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/batching.hpp>
#include <distrib/data/order/data_state.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/stream/batched_stream.hpp>
#include <distrib/data/stream/cached_stream.hpp>
#include <distrib/data/stream/prefetched_stream.hpp>
#include <distrib/data/stream/shuffled_stream.hpp>
#include <distrib/data/stream/stream.hpp>
#include <distrib/data/stream/stream_steps.hpp>
#include <distrib/example/schema.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A stream with what can be said about it, in TensorFlow's words: each call moves it into one with a step more.
/// Composed at compile time, so a step costs a call that the compiler sees through. For what breaks access by number;
/// where data have an index, `tfrecords(...).schema(...)` does more.
///
///     auto longs = tfrecords("log-*.gz").stream().filter(is_long).window_shuffle(1000, 7).repeat();
///     for (const Record& record : longs) ...
///
/// What an element points to lives until the next one is asked for; window_shuffle and cache copy records, but nothing
/// else that an element might point to. One thread at a time. Movable.
template <Stream S> class Pipeline {
 public:
  using Element = typename S::Element;
  class Iterator;

  explicit Pipeline(S stream) : stream_{std::move(stream)} {}

  /// What `function(element)` gives.
  template <class Function> [[nodiscard]] auto map(Function function) && {
    constexpr bool fits = std::invocable<Function&, const Element&>;
    static_assert(fits, "distrib: map(...) takes a function of one element");
    if constexpr (fits) return after(MappedStream<S, Function>{std::move(stream_), std::move(function)});
    else return std::move(*this);
  }

  /// The elements for which `predicate(element)` is true.
  template <class Predicate> [[nodiscard]] auto filter(Predicate predicate) && {
    constexpr bool fits = std::predicate<Predicate&, const Element&>;
    static_assert(fits, "distrib: filter(...) takes a function of one element that returns bool");
    if constexpr (fits) return after(FilteredStream<S, Predicate>{std::move(stream_), std::move(predicate)});
    else return std::move(*this);
  }

  /// At most the first `count` elements.
  [[nodiscard]] auto take(std::uint64_t count) && { return std::move(*this).part(0, 1, count); }

  /// All but the first `count` elements.
  [[nodiscard]] auto skip(std::uint64_t count) && { return std::move(*this).part(count, 1, endless); }

  /// Elements whose position divided by `count` leaves `index`. Throws `std::system_error` with `data_errc::bad_shard`.
  [[nodiscard]] auto shard(std::int64_t count, std::int64_t index) && {
    if (count <= 0 || index < 0 || index >= count)
      throw_error(data_errc::bad_shard, "shard(" + std::to_string(count) + ", " + std::to_string(index) + ")");
    return std::move(*this).part(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(count), endless);
  }

  /// Each element with its number: `Numbered`.
  [[nodiscard]] auto enumerate() && { return after(EnumeratedStream<S>{std::move(stream_)}); }

  /// A random one of the next `buffer` elements each time: see `ShuffledStream`.
  [[nodiscard]] auto window_shuffle(std::uint64_t buffer, std::uint64_t seed) && {
    return after(ShuffledStream<S>{std::move(stream_), buffer, seed});
  }

  /// All elements `epochs` times; without a number for ever.
  [[nodiscard]] auto repeat(std::uint64_t epochs = endless) && {
    return after(RepeatedStream<S>{std::move(stream_), epochs});
  }

  /// Holds what comes in the first epoch, and gives it again in the others: see `CachedStream`.
  [[nodiscard]] auto cache(std::uint64_t max_bytes) && { return after(CachedStream<S>{std::move(stream_), max_bytes}); }

  /// Reads up to `ahead` elements ahead on a thread of `pool`, which outlives the pipeline: see `PrefetchedStream`.
  [[nodiscard]] auto prefetch(IoPool& pool, std::uint64_t ahead) && {
    return after(PrefetchedStream<S>{std::move(stream_), pool, ahead});
  }

  /// Passes over what cannot be read, at most `at_most` times an epoch; `report`, which outlives the pipeline, has what
  /// was passed over in this epoch. More are `data_errc::too_many_errors`.
  [[nodiscard]] auto ignore_errors(std::uint64_t at_most, std::vector<Error>* report = nullptr) && {
    return after(ForgivingStream<S>{std::move(stream_), at_most, report});
  }

  /// After these elements those of `other`, which are of the same type.
  template <Stream Other> [[nodiscard]] auto concatenate(Pipeline<Other> other) && {
    constexpr bool fits = std::same_as<typename Other::Element, Element>;
    static_assert(fits, "distrib: concatenate(...) takes a pipeline of the same elements");
    if constexpr (fits) return after(ConcatenatedStream<S, Other>{std::move(stream_), std::move(other).stream()});
    else return std::move(*this);
  }

  /// Pairs of an element of this and one of `other`.
  template <Stream Other> [[nodiscard]] auto zip(Pipeline<Other> other) && {
    return after(ZippedStream<S, Other>{std::move(stream_), std::move(other).stream()});
  }

  /// Vectors of `size` elements.
  [[nodiscard]] auto batch(std::uint64_t size, Remainder remainder = Remainder::drop) && {
    return after(BatchedStream<S>{std::move(stream_), Batching{size, remainder}});
  }

  /// Records as columns: `Batch<E>`, see `ExampleStream`.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto batch(const Schema<E, Ms...>& schema, std::uint64_t size,
                           Remainder remainder = Remainder::drop) && {
    constexpr bool of_records = std::same_as<Element, Record>;
    static_assert(of_records, "distrib: batch(schema, n) parses records, and these elements are none");
    if constexpr (of_records)
      return after(ExampleStream<S, E, Ms...>{std::move(stream_), schema, Batching{size, remainder}});
    else return std::move(*this);
  }

  /// The stream itself, as it was before it began.
  [[nodiscard]] auto stream() && -> S { return std::move(stream_); }

  /// The next element. Empty at the end, and after a failure, which `to` tells; asked again, it goes on.
  [[nodiscard]] auto next(ErrorRef to) -> std::optional<Element> {
    detail::ErrorOut error{to};
    if (!begun_) begin_again(error);
    if (error) return std::nullopt;
    std::optional<Element> element = stream_.next(error);
    if (element) ++given_;
    return element;
  }

  /// The same; a failure is thrown as `std::system_error`.
  [[nodiscard]] auto next() -> std::optional<Element> {
    Error error;
    std::optional<Element> element = next(error);
    throw_if(error);
    return element;
  }

  /// Where the pipeline stands. With `repeat` as the last step, or behind it nothing but map, filter, batch and
  /// prefetch, that is an epoch and elements of it; else the number of elements since the beginning.
  [[nodiscard]] auto state() -> DataState {
    Error error;
    if (!begun_) begin_again(error);
    throw_if(error);
    const detail::StreamPosition at = position();
    return {detail::data_hash(stream_.describe()), at.epoch, at.elements};
  }

  /// Goes on as the pipeline whose `state()` this is would have gone on, by passing over the elements that were given
  /// out since the epoch's begin. A failure is written to `to`: `data_errc::other_data`, and what reading them reports.
  /// Functions are not part of a state: to hand over the same ones is the caller's part.
  void resume(const DataState& state, ErrorRef to) {
    detail::ErrorOut error{to};
    begin_again(error);
    if (!error && state.data != detail::data_hash(stream_.describe()))
      error = {data_errc::other_data, "resume of " + to_string(state)};
    if (error) return;
    if constexpr (detail::SeekableStream<S>) {
      stream_.seek({state.epoch, state.position}, error);
    } else {
      detail::pass_over(stream_, state.position, error);
      given_ = state.position;
    }
  }

  /// The same; a failure is thrown as `std::system_error`.
  void resume(const DataState& state) {
    Error error;
    resume(state, error);
    throw_if(error);
  }

  /// Goes on, as an input range that throws: begin() asks for an element, so call it once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  template <Stream Next> static auto after(Next next) -> Pipeline<Next> { return Pipeline<Next>{std::move(next)}; }

  auto part(std::uint64_t first, std::uint64_t stride, std::uint64_t count) && {
    return after(PartOfStream<S>{std::move(stream_), first, stride, count});
  }

  void begin_again(Error& error) {
    stream_.rewind(0, error);
    begun_ = !error;
    given_ = 0;
  }

  auto position() const -> detail::StreamPosition {
    if constexpr (detail::SeekableStream<S>) return stream_.position();
    else return {0, given_};
  }

  S stream_;
  bool begun_ = false;
  std::uint64_t given_ = 0;
};

/// Input iterator over the elements that are left. Throws `std::system_error` where the stream fails.
template <Stream S> class Pipeline<S>::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = typename S::Element;

  explicit Iterator(Pipeline& pipeline) : pipeline_{&pipeline} { ++*this; }

  [[nodiscard]] auto operator*() const noexcept -> const value_type& { return *element_; }
  [[nodiscard]] auto operator->() const noexcept -> const value_type* { return &*element_; }
  auto operator++() -> Iterator& {
    // By hand, because elements may lack assignment.
    auto next = pipeline_->next();
    element_.reset();
    if (next) element_.emplace(*std::move(next));
    return *this;
  }
  void operator++(int) { ++*this; }
  [[nodiscard]] auto operator==(std::default_sentinel_t) const noexcept -> bool { return !element_; }

 private:
  Pipeline* pipeline_;
  std::optional<value_type> element_;
};

/// A pipeline over elements that are held in memory.
template <std::copyable T> [[nodiscard]] auto pipeline(std::vector<T> elements) -> Pipeline<detail::VectorStream<T>> {
  return Pipeline{detail::VectorStream<T>{std::move(elements)}};
}

}  // namespace v0
}  // namespace distrib
