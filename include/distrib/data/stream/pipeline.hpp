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

/// A stream with the steps that can be added to it, named as in TensorFlow. Each call moves the pipeline into a new one
/// with one more step. Steps are composed at compile time, so each costs one call that the compiler can inline. Use it
/// where elements have no numbers (pipes, compressed files larger than the memory); for files with an index,
/// `tfrecords(...).schema(...)` offers more.
///
///     auto longs = tfrecords("log-*.gz").stream().filter(is_long).window_shuffle(1000, 7).repeat();
///     for (const Record& record : longs) ...
///
/// Lifetime: what an element points to is valid until the next element is requested. `window_shuffle`, `cache` and
/// `prefetch` copy records, but nothing else that an element may point to.
///
/// Threads: one at a time. Movable.
template <Stream S> class Pipeline {
 public:
  using Element = typename S::Element;
  class Iterator;

  /// Makes the pipeline of the elements of `stream`, from its current position on.
  explicit Pipeline(S stream) : stream_{std::move(stream)} {}

  /// Replaces each element by `function(element)`.
  template <class Function> [[nodiscard]] auto map(Function function) && {
    constexpr bool fits = std::invocable<Function&, const Element&>;
    static_assert(fits, "distrib: map(...) takes a function of one element");
    if constexpr (fits) return after(MappedStream<S, Function>{std::move(stream_), std::move(function)});
    else return std::move(*this);
  }

  /// Keeps the elements for which `predicate(element)` is true.
  template <class Predicate> [[nodiscard]] auto filter(Predicate predicate) && {
    constexpr bool fits = std::predicate<Predicate&, const Element&>;
    static_assert(fits, "distrib: filter(...) takes a function of one element that returns bool");
    if constexpr (fits) return after(FilteredStream<S, Predicate>{std::move(stream_), std::move(predicate)});
    else return std::move(*this);
  }

  /// Keeps at most the first `count` elements.
  [[nodiscard]] auto take(std::uint64_t count) && { return std::move(*this).part(0, 1, count); }

  /// Leaves out the first `count` elements.
  [[nodiscard]] auto skip(std::uint64_t count) && { return std::move(*this).part(count, 1, endless); }

  /// Keeps the elements whose position divided by `count` leaves the remainder `index`. Throws `std::system_error` with
  /// `data_errc::bad_shard` unless `count` is above 0 and `index` is from 0 to count - 1.
  [[nodiscard]] auto shard(std::int64_t count, std::int64_t index) && {
    if (count <= 0 || index < 0 || index >= count)
      throw_error(data_errc::bad_shard, "shard(" + std::to_string(count) + ", " + std::to_string(index) + ")");
    return std::move(*this).part(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(count), endless);
  }

  /// Adds to each element its number, from 0 in each epoch: `Numbered`.
  [[nodiscard]] auto enumerate() && { return after(EnumeratedStream<S>{std::move(stream_)}); }

  /// Shuffles within a window: each time returns a random one of the next `buffer` elements. The order is a function of
  /// `seed` and the epoch. An element moves at most `buffer` - 1 positions towards the front.
  ///
  /// Errors: `next` reports `data_errc::bad_buffer` if `buffer` is 0.
  [[nodiscard]] auto window_shuffle(std::uint64_t buffer, std::uint64_t seed) && {
    return after(ShuffledStream<S>{std::move(stream_), buffer, seed});
  }

  /// Returns all elements `epochs` times; without a number, without end. Each pass is an epoch. Ends at the first epoch
  /// without elements.
  [[nodiscard]] auto repeat(std::uint64_t epochs = endless) && {
    return after(RepeatedStream<S>{std::move(stream_), epochs});
  }

  /// Holds the elements of the first epoch in memory, at most `max_bytes`, and returns them again in later epochs. An
  /// epoch that was not read to its end, or had a failure, is not kept. An element counts with its `sizeof`, a record
  /// also with its payload. Trap: other memory that an element owns does not count.
  ///
  /// Errors: `next` reports `data_errc::cache_full` if the elements take more; that element and each further one of the
  /// epoch is lost.
  [[nodiscard]] auto cache(std::uint64_t max_bytes) && { return after(CachedStream<S>{std::move(stream_), max_bytes}); }

  /// Reads up to `ahead` elements ahead of their use on a thread of `pool`, which must outlive the pipeline. Elements
  /// and failures come in the same order. If the pool is busy or stopped, the caller reads. Records are copied; other
  /// memory that an element points to must stay valid while later elements are read.
  ///
  /// Errors: `next` reports `data_errc::bad_buffer` if `ahead` is 0.
  [[nodiscard]] auto prefetch(IoPool& pool, std::uint64_t ahead) && {
    return after(PrefetchedStream<S>{std::move(stream_), pool, ahead});
  }

  /// Skips what cannot be read, at most `at_most` times in an epoch. `report`, if not null, must outlive the pipeline;
  /// it lists what was skipped in the current epoch.
  ///
  /// Errors: `next` reports `data_errc::too_many_errors` if there are more failures.
  [[nodiscard]] auto ignore_errors(std::uint64_t at_most, std::vector<Error>* report = nullptr) && {
    return after(ForgivingStream<S>{std::move(stream_), at_most, report});
  }

  /// Appends the elements of `other`: they follow the last element of this pipeline. An element that cannot be read is
  /// a failure, not the end. Elements of another type do not compile.
  template <Stream Other> [[nodiscard]] auto concatenate(Pipeline<Other> other) && {
    constexpr bool fits = std::same_as<typename Other::Element, Element>;
    static_assert(fits, "distrib: concatenate(...) takes a pipeline with the same type of elements");
    if constexpr (fits) return after(ConcatenatedStream<S, Other>{std::move(stream_), std::move(other).stream()});
    else return std::move(*this);
  }

  /// Returns pairs of one element of this pipeline and one of `other`, until one of them ends.
  template <Stream Other> [[nodiscard]] auto zip(Pipeline<Other> other) && {
    return after(ZippedStream<S, Other>{std::move(stream_), std::move(other).stream()});
  }

  /// Groups elements into vectors of `size` elements, 1 .. 2^31. With `Remainder::keep`, elements that are left at the
  /// end make a short vector. Trap: an element that points to memory of an earlier step is not valid after the next one
  /// was read, so map such elements first to values that own their data.
  ///
  /// Errors: `next` reports `data_errc::bad_batch_size`.
  [[nodiscard]] auto batch(std::uint64_t size, Remainder remainder = Remainder::drop) && {
    return after(BatchedStream<S>{std::move(stream_), Batching{size, remainder}});
  }

  /// Parses records into columns: `Batch<E>` of `size` records, 1 .. 2^31. A batch is valid until the next one is
  /// requested.
  ///
  /// Errors: `next` reports `data_errc::bad_batch_size`, or an `example_errc` with record and feature; the records of
  /// that batch are lost.
  template <class E, FeatureMember... Ms>
  [[nodiscard]] auto batch(const Schema<E, Ms...>& schema, std::uint64_t size,
                           Remainder remainder = Remainder::drop) && {
    constexpr bool of_records = std::same_as<Element, Record>;
    static_assert(of_records, "distrib: batch(schema, n) parses records, and these elements are not records");
    if constexpr (of_records)
      return after(ExampleStream<S, E, Ms...>{std::move(stream_), schema, Batching{size, remainder}});
    else return std::move(*this);
  }

  /// Moves the stream out of the pipeline. A new pipeline over it begins at the first element.
  [[nodiscard]] auto stream() && -> S { return std::move(stream_); }

  /// Returns the next element, or nothing: at the end, or after a failure, which sets `to`; otherwise clears `to`, also
  /// at the end. Called again after a failure, it continues behind what failed; if the pipeline could not begin, it
  /// tries to begin again. Trap: some failures come again at each call, such as `data_errc::bad_buffer` and
  /// `too_many_errors`; so do not repeat the call without a limit. Also throws what the functions of `map` and `filter`
  /// throw.
  [[nodiscard]] auto next(ErrorRef to) -> std::optional<Element> {
    detail::ErrorOut error{to};
    if (!begun_) begin_again(error);
    if (error) return std::nullopt;
    std::optional<Element> element = stream_.next(error);
    if (element) ++given_;
    return element;
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto next() -> std::optional<Element> {
    Error error;
    std::optional<Element> element = next(error);
    throw_if(error);
    return element;
  }

  /// Returns the position of the pipeline. If `repeat` is the last step, or only map, filter, batch and prefetch come
  /// after it, the position is an epoch and the number of its elements read; otherwise the number of elements returned
  /// since the beginning. Throws `std::system_error` if the pipeline has not begun and cannot begin.
  [[nodiscard]] auto state() -> DataState {
    Error error;
    if (!begun_) begin_again(error);
    throw_if(error);
    const detail::StreamPosition at = position();
    return {detail::data_hash(stream_.describe()), at.epoch, at.elements};
  }

  /// Continues from `state`, as the pipeline that returned it would have continued. Reads and drops the elements
  /// between the beginning of the epoch and that position. A state does not contain functions: the caller must build
  /// the pipeline with the same ones.
  ///
  /// Errors: sets `to` to `data_errc::other_data`, or to what reading the elements reports. The position is then
  /// unspecified; `resume` may be called again.
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

  /// This overload throws the error as `std::system_error`.
  void resume(const DataState& state) {
    Error error;
    resume(state, error);
    throw_if(error);
  }

  /// Returns an input iterator over the remaining elements, which throws on failure. Trap: `begin()` reads an element,
  /// so call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  /// Returns the end of the range.
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

/// Input iterator over the remaining elements. Throws `std::system_error` where the stream fails.
template <Stream S> class Pipeline<S>::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = typename S::Element;

  /// Reads the first element of the rest of `pipeline`, which must outlive the iterator.
  explicit Iterator(Pipeline& pipeline) : pipeline_{&pipeline} { ++*this; }

  /// Return the current element; valid until the iterator is advanced. Not allowed at the end (not checked).
  [[nodiscard]] auto operator*() const noexcept -> const value_type& { return *element_; }
  [[nodiscard]] auto operator->() const noexcept -> const value_type* { return &*element_; }
  /// Reads the next element. Throws `std::system_error` if that fails.
  auto operator++() -> Iterator& {
    // In two steps, because elements may have no assignment.
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

/// Returns a pipeline over elements that are held in memory.
template <std::copyable T> [[nodiscard]] auto pipeline(std::vector<T> elements) -> Pipeline<detail::VectorStream<T>> {
  return Pipeline{detail::VectorStream<T>{std::move(elements)}};
}

}  // namespace v0
}  // namespace distrib
