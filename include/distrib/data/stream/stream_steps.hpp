// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/stream/stateless_step.hpp>
#include <distrib/data/stream/stream.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// Each step is a Stream over another stream. Users build them with `Pipeline`.

/// Replaces each element by `function(element)`. Descriptions of different functions are equal.
template <Stream Below, class Function> class MappedStream : public StatelessStep<Below> {
 public:
  using Element = std::remove_cvref_t<std::invoke_result_t<Function&, const typename Below::Element&>>;

  MappedStream(Below below, Function function)
      : StatelessStep<Below>{std::move(below)}, function_{std::move(function)} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    const auto element = below_.next(error);
    if (!element) return std::nullopt;
    return std::invoke(function_, *element);
  }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " map"; }

 private:
  using StatelessStep<Below>::below_;
  Function function_;
};

/// Keeps the elements for which `predicate` is true. Descriptions of different predicates are equal.
template <Stream Below, class Predicate> class FilteredStream : public StatelessStep<Below> {
 public:
  using Element = typename Below::Element;

  FilteredStream(Below below, Predicate predicate)
      : StatelessStep<Below>{std::move(below)}, predicate_{std::move(predicate)} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    while (std::optional<Element> element = below_.next(error))
      if (std::invoke(predicate_, std::as_const(*element))) return element;
    return std::nullopt;
  }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " filter"; }

 private:
  using StatelessStep<Below>::below_;
  Predicate predicate_;
};

/// Keeps the elements `first`, `first + stride`, ..., at most `count` of them: take, skip and shard.
template <Stream Below> class PartOfStream {
 public:
  using Element = typename Below::Element;

  PartOfStream(Below below, std::uint64_t first, std::uint64_t stride, std::uint64_t count)
      : below_{std::move(below)}, first_{first}, stride_{stride}, count_{count} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    if (given_ == count_) return std::nullopt;
    for (std::uint64_t skip = given_ == 0 ? first_ : stride_ - 1; passed_ < skip; ++passed_)
      if (!below_.next(error)) return std::nullopt;
    std::optional<Element> element = below_.next(error);
    if (!element) return element;
    passed_ = 0;
    ++given_;
    return element;
  }
  void rewind(std::uint64_t epoch, Error& error) {
    given_ = passed_ = 0;
    below_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " part=" + std::to_string(first_) + '/' + std::to_string(stride_) + '/' +
           std::to_string(count_);
  }

 private:
  Below below_;
  std::uint64_t first_;
  std::uint64_t stride_;
  std::uint64_t count_;
  std::uint64_t given_ = 0;
  std::uint64_t passed_ = 0;  // elements skipped since the last one that was returned
};

/// An element and its number in the epoch, from 0.
template <class T> struct Numbered {
  std::uint64_t number = 0;
  T value;
};

/// Adds to each element its number.
template <Stream Below> class EnumeratedStream {
 public:
  using Element = Numbered<typename Below::Element>;

  explicit EnumeratedStream(Below below) : below_{std::move(below)} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    const auto element = below_.next(error);
    if (!element) return std::nullopt;
    return Element{number_++, *element};
  }
  void rewind(std::uint64_t epoch, Error& error) {
    number_ = 0;
    below_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " enumerate"; }

 private:
  Below below_;
  std::uint64_t number_ = 0;
};

/// Returns all elements `count` times; each pass is an epoch of its own. Ends at the first epoch without elements.
template <Stream Below> class RepeatedStream {
 public:
  using Element = typename Below::Element;

  RepeatedStream(Below below, std::uint64_t count) : below_{std::move(below)}, count_{count} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    while (position_.epoch < count_) {
      std::optional<Element> element = below_.next(error);
      if (error) return std::nullopt;
      if (element) {
        ++position_.elements;
        return element;
      }
      if (position_.elements == 0) return std::nullopt;
      begin({position_.epoch + 1, 0}, error);
      if (error) return std::nullopt;
    }
    return std::nullopt;
  }
  void rewind(std::uint64_t epoch, Error& error) {
    first_epoch_ = epoch * count_;
    begin({}, error);
  }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " repeat=" + std::to_string(count_); }

  [[nodiscard]] auto position() const noexcept -> detail::StreamPosition { return position_; }
  void seek(detail::StreamPosition position, Error& error) {
    begin({position.epoch, 0}, error);
    for (; position_.elements < position.elements && !error; ++position_.elements)
      if (!below_.next(error)) return;
  }

 private:
  void begin(detail::StreamPosition position, Error& error) {
    position_ = position;
    if (position_.epoch < count_) below_.rewind(first_epoch_ + position_.epoch, error);
  }

  Below below_;
  std::uint64_t count_;
  std::uint64_t first_epoch_ = 0;
  detail::StreamPosition position_;
};

/// Returns all elements of the first stream, then all of the second.
template <Stream First, Stream Then> class ConcatenatedStream {
 public:
  using Element = typename First::Element;

  ConcatenatedStream(First first, Then then) : first_{std::move(first)}, then_{std::move(then)} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    if (!first_ended_) {
      std::optional<Element> element = first_.next(error);
      if (element || error) return element;
      first_ended_ = true;
    }
    return then_.next(error);
  }
  void rewind(std::uint64_t epoch, Error& error) {
    first_ended_ = false;
    first_.rewind(epoch, error);
    if (!error) then_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string {
    return first_.describe() + " concatenate=(" + then_.describe() + ')';
  }

 private:
  First first_;
  Then then_;
  bool first_ended_ = false;
};

/// Returns pairs of one element of each stream, until one of them ends.
template <Stream First, Stream Second> class ZippedStream {
 public:
  using Element = std::pair<typename First::Element, typename Second::Element>;

  ZippedStream(First first, Second second) : first_{std::move(first)}, second_{std::move(second)} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    if (!waiting_) waiting_ = first_.next(error);
    if (!waiting_) return std::nullopt;
    const auto second = second_.next(error);
    if (!second) return std::nullopt;
    Element both{*std::exchange(waiting_, std::nullopt), *second};
    return both;
  }
  void rewind(std::uint64_t epoch, Error& error) {
    waiting_.reset();
    first_.rewind(epoch, error);
    if (!error) second_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string { return first_.describe() + " zip=(" + second_.describe() + ')'; }

 private:
  First first_;
  Second second_;
  std::optional<typename First::Element> waiting_;  // for an element of the second stream
};

/// Skips failures, at most `at_most` in an epoch. `report`, if not null, lists the skipped failures of the current
/// epoch.
///
/// Errors: one more failure is `data_errc::too_many_errors`; `next` then returns that error until the next epoch.
template <Stream Below> class ForgivingStream {
 public:
  using Element = typename Below::Element;

  ForgivingStream(Below below, std::uint64_t at_most, std::vector<Error>* report)
      : below_{std::move(below)}, at_most_{at_most}, report_{report} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Element> {
    while (!too_many_) {
      Error failure;
      std::optional<Element> element = below_.next(failure);
      if (!failure) return element;
      if (ignored_++ == at_most_)
        too_many_ = {data_errc::too_many_errors, failure.where + ": " + failure.code.message()};
      else if (report_ != nullptr) report_->push_back(std::move(failure));
    }
    error = too_many_;
    return std::nullopt;
  }
  void rewind(std::uint64_t epoch, Error& error) {
    ignored_ = 0;
    too_many_ = {};
    if (report_ != nullptr) report_->clear();
    below_.rewind(epoch, error);
  }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " ignore_errors=" + std::to_string(at_most_);
  }

 private:
  Below below_;
  std::uint64_t at_most_;
  std::vector<Error>* report_;
  std::uint64_t ignored_ = 0;
  Error too_many_;
};

}  // namespace v0
}  // namespace distrib
