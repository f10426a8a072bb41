// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/detail/column.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/schema.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Rows of different lengths: the `values` of all rows, and `row_splits`, one more than there are rows. Row i has the
/// values from `row_splits[i]` up to, but without, `row_splits[i + 1]`. As in TensorFlow's RaggedTensor.
template <class T> struct RaggedRows {
  std::span<const T> values;  ///< Of all rows, one row after another.
  std::span<const std::int64_t> row_splits;  ///< Where the rows begin in `values`, and where the last one ends.
};

/// Records of struct E as columns, one column for each member that the schema binds: `batch.column(&Digit::label)` is a
/// std::span of labels, one for each record. Filled by `parse_examples` or by a BatchSource.
///
/// Memory: columns begin at multiples of `tensor_alignment`; a batch that is filled again allocates only if it grows.
///
/// Lifetime: spans and records taken from a batch are valid until the batch is filled again or destroyed. Values of
/// bytes point into the records that were parsed. A BatchSource lets the batch keep these alive until then; after
/// `parse_examples` the caller must keep them. Movable, not copyable.
///
/// Threads: const access from any thread; one thread may fill it.
template <class E> class Batch {
 public:
  /// Has no records and no columns yet.
  Batch() = default;

  /// Returns the number of records.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// True if there are no records.
  [[nodiscard]] auto empty() const noexcept -> bool { return size_ == 0; }

  /// Returns the values of one member, one for each record. Throws `std::system_error` with
  /// `example_errc::unbound_member`, naming the features that are bound, if the schema that filled the batch does not
  /// bind this member, or the batch was never filled.
  template <FeatureMember M> [[nodiscard]] auto column(M E::* member) const -> std::span<const M> {
    for (const auto& column : columns_)
      if (const auto* typed = dynamic_cast<const detail::Column<E, M>*>(column.get()))
        if (typed->member() == member) return typed->rows(size_);
    std::string bound;
    for (const auto& column : columns_) bound += ' ' + std::string{column->name()};
    throw_error(example_errc::unbound_member, "Batch::column (bound features:" + bound + ")");
  }
  template <class M> auto column(M E::*) const -> std::span<const M> {
    constexpr bool fits = FeatureMember<M>;
    static_assert(fits, "distrib: a batch has no column of this type, because no feature fits it");
    return {};
  }

  /// Returns a list of any length as a ragged tensor, without a copy: the `values` of all records, one record after
  /// another, and `row_splits`, one more than there are records and beginning with 0. Record i has the values from
  /// `row_splits[i]` up to, but without, `row_splits[i + 1]`. Both begin at multiples of `tensor_alignment`. Throws
  /// `std::system_error` with `example_errc::unbound_member`, naming the features that are bound, if the schema that
  /// filled the batch does not bind this member, or the batch was never filled.
  template <class T> [[nodiscard]] auto ragged(std::span<const T> E::* member) const -> RaggedRows<T> {
    (void)column(member);
    for (const auto& column : columns_)
      if (const auto* typed = dynamic_cast<const detail::Column<E, std::span<const T>>*>(column.get()))
        if (typed->member() == member) {
          const auto splits = typed->slot().splits.template as<std::int64_t>().first(size_ + 1);
          return {typed->slot().values.template as<T>().first(static_cast<std::size_t>(splits.back())), splits};
        }
    return {};
  }

  /// Returns record `i`, which must be less than `size()`. Members that are not bound are as E's default constructor
  /// leaves them.
  [[nodiscard]] auto operator[](std::size_t i) const -> E {
    assert(i < size_);
    E record{};
    for (const auto& column : columns_) column->load(i, record);
    return record;
  }

 private:
  template <class, FeatureMember...> friend class ExampleParser;

  /// Drops all records, and makes room for `rows` new ones; the columns follow `schema`, in its order.
  template <FeatureMember... Ms>
  auto start(const Schema<E, Ms...>& schema, std::size_t rows, std::shared_ptr<const void> keep_alive)
      -> std::span<detail::FeatureSlot> {
    size_ = 0;
    keep_alive_ = std::move(keep_alive);
    std::apply([this](const auto&... f) { this->bind(std::index_sequence_for<Ms...>{}, f...); }, schema.features());
    const std::span slots{slots_.get(), sizeof...(Ms)};
    for (detail::FeatureSlot& slot : slots) slot.start(rows);
    return slots;
  }

  template <std::size_t... Is, FeatureMember... Ms>
  void bind(std::index_sequence<Is...>, const Feature<E, Ms>&... features) {
    if (columns_.size() != sizeof...(Ms) || !(fits(Is, features) && ...)) {
      columns_.clear();
      slots_ = std::make_unique<detail::FeatureSlot[]>(sizeof...(Ms));
      (columns_.push_back(std::make_unique<detail::Column<E, Ms>>(slots_[Is], features.member())), ...);
      (slots_[Is].want(features.name(), detail::MemberTraits<Ms>::kind, detail::MemberTraits<Ms>::list,
                       detail::MemberTraits<Ms>::count),
       ...);
    }
    ((slots_[Is].fallback = features.fallback() ? reinterpret_cast<const std::byte*>(&*features.fallback()) : nullptr),
     ...);
  }

  template <FeatureMember M> auto fits(std::size_t i, const Feature<E, M>& feature) const -> bool {
    const auto* column = dynamic_cast<const detail::Column<E, M>*>(columns_[i].get());
    return column != nullptr && column->member() == feature.member() && column->name() == feature.name();
  }

  template <FeatureMember... Ms> void finish(std::size_t rows) {
    std::size_t i = 0;
    (static_cast<detail::Column<E, Ms>&>(*columns_[i++]).finish(rows), ...);
    size_ = rows;
  }

  std::unique_ptr<detail::FeatureSlot[]> slots_;
  std::vector<std::unique_ptr<detail::AnyColumn<E>>> columns_;
  std::size_t size_ = 0;
  std::shared_ptr<const void> keep_alive_;
};

}  // namespace v0
}  // namespace distrib
