// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/detail/column.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/schema.hpp>

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Records of struct E as columns, one for each member that the schema binds: `batch.column(&Digit::label)` is a
/// std::span of labels, one for each record. Filled by `parse_examples` or by a BatchSource.
///
/// Memory: columns begin at multiples of `tensor_alignment`; a batch that is filled again allocates only when it grows.
/// Lifetime: spans and records that were taken from a batch end with it, or when it is filled again; what they point to
/// outside of it (the bytes of a mapped file) the batch keeps alive until then. Movable, not copyable. Threads: const
/// access from any, filling by one.
template <class E>
class Batch {
 public:
  /// No records, no columns yet.
  Batch() = default;

  /// Number of records.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return size_ == 0; }

  /// The values of one member, one for each record. Throws `std::system_error` with `example_errc::unbound_member`,
  /// naming the features that are bound: the schema that filled the batch lacks this member; one never filled has none.
  template <FeatureMember M>
  [[nodiscard]] auto column(M E::* member) const -> std::span<const M> {
    for (const auto& column : columns_)
      if (const auto* typed = dynamic_cast<const detail::Column<E, M>*>(column.get()))
        if (typed->member() == member) return typed->rows(size_);
    std::string bound;
    for (const auto& column : columns_) bound += ' ' + std::string{column->name()};
    throw_error(example_errc::unbound_member, "Batch::column (bound are:" + bound + ")");
  }
  template <class M>
  auto column(M E::*) const -> std::span<const M> {
    constexpr bool fits = FeatureMember<M>;
    static_assert(fits, "distrib: a batch has no column of this type, because no feature fits it");
    return {};
  }

  /// Record `i < size()`. Members that are not bound are as E's default constructor leaves them.
  [[nodiscard]] auto operator[](std::size_t i) const -> E {
    assert(i < size_);
    E record{};
    for (const auto& column : columns_) column->load(i, record);
    return record;
  }

 private:
  template <class, FeatureMember...>
  friend class ExampleParser;

  /// Drops all records, makes room for `rows` new ones; the columns are those of `schema`, in its order.
  template <FeatureMember... Ms>
  auto start(const Schema<E, Ms...>& schema, std::size_t rows, std::shared_ptr<const void> keep_alive)
      -> std::tuple<detail::Column<E, Ms>*...> {
    size_ = 0;
    keep_alive_ = std::move(keep_alive);
    auto columns = std::apply([this](const auto&... f) { return this->find(std::index_sequence_for<Ms...>{}, f...); },
                              schema.features());
    std::apply([rows](auto*... column) { (column->start(rows), ...); }, columns);
    return columns;
  }

  template <std::size_t... Is, FeatureMember... Ms>
  auto find(std::index_sequence<Is...>, const Feature<E, Ms>&... features) -> std::tuple<detail::Column<E, Ms>*...> {
    const bool same = columns_.size() == sizeof...(Ms) && ((typed<Ms>(Is, features) != nullptr) && ...);
    if (!same) {
      columns_.clear();
      (columns_.push_back(std::make_unique<detail::Column<E, Ms>>(features.name(), features.member())), ...);
    }
    return {typed<Ms>(Is, features)...};
  }

  template <FeatureMember M>
  auto typed(std::size_t i, const Feature<E, M>& feature) const -> detail::Column<E, M>* {
    auto* column = dynamic_cast<detail::Column<E, M>*>(columns_[i].get());
    return column != nullptr && column->member() == feature.member() && column->name() == feature.name() ? column
                                                                                                         : nullptr;
  }

  std::vector<std::unique_ptr<detail::AnyColumn<E>>> columns_;
  std::size_t size_ = 0;
  std::shared_ptr<const void> keep_alive_;
};

}  // namespace distrib::inline v0
