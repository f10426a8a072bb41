// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/batch.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

template <class S>
concept FillsBatches = requires(const S& source, std::uint64_t number, Batch<typename S::ExampleType>& batch) {
  source.fill(number, batch);
  { source.batch_size() } -> std::convertible_to<std::uint64_t>;
  { source.batches() } -> std::convertible_to<std::optional<std::uint64_t>>;
};

template <class S>
concept FillsInOrder = requires(const S& source, std::uint64_t number, Batch<typename S::ExampleType>& batch) {
  source.fill_in_order(number, batch);
  { source.in_order_batches() } -> std::convertible_to<std::uint64_t>;
  { source.records() } -> std::convertible_to<std::uint64_t>;
};

/// A source whose records come while the job runs. Three members more, all const:
/// - `is_there(number) -> bool`: true if `fill` of this batch need not wait for records. Looks for new ones. A trainer
///   asks until it is so, and handles events meanwhile.
/// - `continue_after(count)`: the job continues after so many batches; throws if the source cannot have given them.
/// - `let_go(count)`: no restart will ask for the first `count` batches.
template <class S>
concept WaitsForBatches = requires(const S& source, std::uint64_t number) {
  { source.is_there(number) } -> std::convertible_to<bool>;
  source.continue_after(number);
  source.let_go(number);
};

template <class S>
concept DescribesData = requires(const S& source) {
  { source.describe() } -> std::convertible_to<std::string>;
};

}  // namespace detail

/// Examples of one struct, open for reading: from files, from memory or from elsewhere. A type with the member type
/// `ExampleType`, which is the struct, and these members, all const:
/// - `fill(std::uint64_t number, Batch<ExampleType>& batch) -> void`: fills `batch` with batch `number`, from 0. A pure
///   function of the number: any caller gets the same records in the same order at any time.
/// - `batch_size() -> std::uint64_t`: the number of records that `fill` puts into each batch.
/// - `batches() -> std::optional<std::uint64_t>`: the number of batches that `fill` can fill; empty if they never end.
/// - `fill_in_order(std::uint64_t number, Batch<ExampleType>& batch) -> void`: fills `batch` with part `number`, from
///   0, of all records, in the order in which they are stored. Each record is in one part; the last part may be short.
///   For evaluation.
/// - `in_order_batches() -> std::uint64_t`: the number of these parts.
/// - `records() -> std::uint64_t`: the number of records in all parts together.
/// - `describe() -> std::string`: one line, equal for equal data and settings, independent of where the data are
///   stored.
///   It is part of the job: a worker whose line differs is refused.
///
/// A batch is filled through a schema, by `ExampleParser` or `parse_examples`. In a training, rank r of R asks for the
/// batches (s - 1) * R + r, for its steps s = 1, 2, ...: so a source must not divide its records among workers.
///
/// Errors: `fill` and `fill_in_order` throw if a record cannot be read.
///
/// Threads: any, each with a batch of its own. The source may be destroyed before the batches that it filled.
template <class S>
concept BatchSource =
    std::move_constructible<S> && detail::FillsBatches<S> && detail::FillsInOrder<S> && detail::DescribesData<S>;

namespace detail {

template <class D>
concept OpensSource = requires(const D& dataset) {
  { dataset.open() } -> BatchSource;
};

template <class D>
concept SourceOfSameType =
    std::same_as<typename D::ExampleType, typename decltype(std::declval<const D&>().open())::ExampleType>;

}  // namespace detail

/// A description of what to read and how, a value. A copyable type with
/// - `ExampleType`, a member type: the struct of one example;
/// - `open() const`: returns a `BatchSource` with the same `ExampleType`. Only `open()` reads files. It may be called
///   several times, and throws on failure.
template <class D>
concept Dataset = std::copyable<D> && detail::OpensSource<D> && detail::SourceOfSameType<D>;

namespace detail {

/// Returned after one of our own compile-time messages, so that the compiler reports nothing else.
struct NoDataset {
  constexpr auto schema(auto&&...) const -> NoDataset { return {}; }
  constexpr auto interleave(auto&&...) const -> NoDataset { return {}; }
  constexpr auto shard(auto&&...) const -> NoDataset { return {}; }
  constexpr auto take(auto&&...) const -> NoDataset { return {}; }
  constexpr auto skip(auto&&...) const -> NoDataset { return {}; }
  constexpr auto filter(auto&&...) const -> NoDataset { return {}; }
  constexpr auto ignore_errors(auto&&...) const -> NoDataset { return {}; }
  constexpr auto concatenate(auto&&...) const -> NoDataset { return {}; }
  constexpr auto shuffle(auto&&...) const -> NoDataset { return {}; }
  constexpr auto repeat(auto&&...) const -> NoDataset { return {}; }
  constexpr auto batch(auto&&...) const -> NoDataset { return {}; }
  constexpr auto max_inflated_bytes(auto&&...) const -> NoDataset { return {}; }
  constexpr auto open(auto&&...) const -> NoDataset { return {}; }
};

/// Fails to compile with one sentence for each thing that `D` lacks. For the unconstrained overloads of functions that
/// take a Dataset.
template <class D> constexpr void explain_dataset() {
  // Through bools: if static_assert sees the concept itself, the compiler adds a page of its own explanation.
  constexpr bool said_already = std::same_as<D, NoDataset>;
  constexpr bool names_type = requires { typename D::ExampleType; };
  constexpr bool can_open = requires(const D& dataset) { dataset.open(); };
  static_assert(
      said_already || (names_type && can_open),
      "distrib: pass data as tfrecords(...).schema(feature(...), ...).batch(n), or as a type of your own with "
      "ExampleType and open() const");
  if constexpr (names_type && can_open) {
    using Source = std::remove_cvref_t<decltype(std::declval<const D&>().open())>;
    constexpr bool fills = FillsBatches<Source>;
    constexpr bool fills_in_order = FillsInOrder<Source>;
    constexpr bool describes = DescribesData<Source>;
    constexpr bool moves = std::move_constructible<Source>;
    constexpr bool is_value = std::copyable<D>;
    static_assert(fills,
                  "distrib: a BatchSource needs fill(std::uint64_t number, Batch<ExampleType>&) const, batch_size() "
                  "and batches()");
    static_assert(fills_in_order,
                  "distrib: a BatchSource needs fill_in_order(std::uint64_t number, Batch<ExampleType>&) const, "
                  "in_order_batches() and records()");
    static_assert(describes, "distrib: a BatchSource needs describe() const that returns std::string");
    static_assert(moves, "distrib: a BatchSource must be movable");
    static_assert(is_value, "distrib: a Dataset is a value: make it copyable");
  }
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
