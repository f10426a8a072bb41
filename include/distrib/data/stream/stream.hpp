// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A source of elements that can only be read one after the other. A Stream can be moved and has
/// - `Element`, a copyable type. What an element points to is valid until the next element is requested.
/// - `stream.next(error)`: returns the next element, or nothing: at the end, or after a failure, which sets `error`. It
///   may be called again after a failure and then continues behind what could not be read.
/// - `stream.rewind(epoch, error)`: begins pass `epoch`, from 0; sets `error` on failure. Must be called before the
///   first element, too. The same epoch has the same elements in the same order.
/// - `stream.describe()`: returns one line, equal for equal data and steps.
///
/// Threads: one at a time.
template <class S>
concept Stream = std::move_constructible<S> && requires(S& stream, const S& fixed, std::uint64_t epoch, Error& error) {
  typename S::Element;
  { stream.next(error) } -> std::same_as<std::optional<typename S::Element>>;
  stream.rewind(epoch, error);
  { fixed.describe() } -> std::convertible_to<std::string>;
};

namespace detail {

/// The position of a stream that knows it: the epoch, and the number of its elements that were read.
struct StreamPosition {
  std::uint64_t epoch = 0;
  std::uint64_t elements = 0;
};

/// A Stream that knows its position and can go to another one without reading all epochs before it.
template <class S>
concept SeekableStream = Stream<S> && requires(S& stream, const S& fixed, StreamPosition position, Error& error) {
  { fixed.position() } -> std::same_as<StreamPosition>;
  stream.seek(position, error);
};

/// A copy of an element that stays valid after the next step of the stream.
template <class T> struct Held {
  T value;
  explicit Held(const T& element) : value{element} {}
  [[nodiscard]] auto get() const -> T { return value; }
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return sizeof(T); }
};
template <> struct Held<Record> {
  std::vector<std::byte> payload;
  std::uint64_t offset;
  std::uint64_t number;
  explicit Held(const Record& record)
      : payload{record.bytes.begin(), record.bytes.end()}, offset{record.offset}, number{record.number} {}
  [[nodiscard]] auto get() const -> Record { return {payload, offset, number}; }
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return sizeof(Held) + payload.size(); }
};

/// Reads and drops `count` elements, or fewer if the stream ends or fails; a failure sets `error`.
template <class S> void pass_over(S& stream, std::uint64_t count, Error& error) {
  while (count-- > 0 && !error)
    if (!stream.next(error)) return;
}

/// A stream of elements that are held in memory.
template <std::copyable T> class VectorStream {
 public:
  using Element = T;

  explicit VectorStream(std::vector<T> elements) : elements_{std::move(elements)} {}

  [[nodiscard]] auto next(Error&) -> std::optional<T> {
    if (next_ == elements_.size()) return std::nullopt;
    return elements_[next_++];
  }
  void rewind(std::uint64_t, Error&) { next_ = 0; }
  [[nodiscard]] auto describe() const -> std::string { return "elements=" + std::to_string(elements_.size()); }

 private:
  std::vector<T> elements_;
  std::size_t next_ = 0;
};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
