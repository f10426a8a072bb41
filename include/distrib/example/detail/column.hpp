// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace distrib::inline v0::detail {

/// A column of a batch whose type is not known.
template <class E>
class AnyColumn {
 public:
  explicit AnyColumn(std::string_view name) noexcept : name_{name} {}
  AnyColumn(const AnyColumn&) = delete;
  auto operator=(const AnyColumn&) -> AnyColumn& = delete;
  virtual ~AnyColumn() = default;

  [[nodiscard]] auto name() const noexcept -> std::string_view { return name_; }

  /// Copies row `i` into its member of `record`.
  virtual void load(std::size_t i, E& record) const noexcept = 0;

 private:
  std::string_view name_;
};

/// A column of members of type M, and the row that is being written. Memory only ever grows.
template <class E, FeatureMember M>
class Column final : public AnyColumn<E> {
 public:
  using Traits = MemberTraits<M>;
  using Element = typename Traits::Element;

  Column(std::string_view name, M E::* member) noexcept : AnyColumn<E>{name}, member_{member} {}

  [[nodiscard]] auto member() const noexcept -> M E::* { return member_; }
  [[nodiscard]] auto rows(std::size_t count) const noexcept -> std::span<const M> {
    return memory_.template as<M>().first(count);
  }
  void load(std::size_t i, E& record) const noexcept override { record.*member_ = memory_.template as<M>()[i]; }

  /// Forgets all rows and makes room for `rows`.
  void start(std::size_t rows) {
    if (memory_.size() < rows * sizeof(M)) memory_ = AlignedBuffer{rows * sizeof(M)};
    values_.clear();
    ends_.clear();
    ends_.reserve(Traits::form == Form::ragged ? rows : 0);
  }

  /// Begins the values of row `i`, also again: what it had is dropped.
  void start_row(std::size_t i) {
    row_ = memory_.template as<M>().data() + i;
    count_ = 0;
    if constexpr (Traits::form == Form::ragged) values_.resize(ends_.empty() ? 0 : ends_.back());
  }

  /// Adds one value to the row.
  void add(Element value) {
    if constexpr (Traits::form == Form::ragged)
      values_.push_back(value);
    else if (count_ < Traits::count)
      std::memcpy(reinterpret_cast<std::byte*>(row_) + count_ * sizeof value, &value, sizeof value);
    ++count_;
  }

  /// Adds numbers that lie as a message has them, little-endian and one after the other.
  void add_packed(ByteView bytes) {
    const std::size_t count = bytes.size() / sizeof(Element);
    if (count == 0) return;
    if constexpr (Traits::form == Form::ragged) {
      values_.resize(values_.size() + count);
      std::memcpy(values_.data() + (values_.size() - count), bytes.data(), bytes.size());
    } else if (count_ < Traits::count) {
      std::memcpy(reinterpret_cast<std::byte*>(row_) + count_ * sizeof(Element), bytes.data(),
                  std::min(count, Traits::count - count_) * sizeof(Element));
    }
    count_ += count;
  }

  /// Sets the row to this value.
  void set(const M& value) noexcept { *row_ = value; }

  /// How many values were added to the row, those that found no place included.
  [[nodiscard]] auto count() const noexcept -> std::size_t { return count_; }

  void end_row() {
    if constexpr (Traits::form == Form::ragged) ends_.push_back(values_.size());
  }

  /// After the last row: only now do the values of lists stand still.
  void finish() noexcept {
    if constexpr (Traits::form == Form::ragged) {
      const std::span<M> rows = memory_.template as<M>();
      std::size_t begin = 0;
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        rows[i] = M{values_.data() + begin, ends_[i] - begin};
        begin = ends_[i];
      }
    }
  }

 private:
  M E::* member_;
  AlignedBuffer memory_;
  M* row_ = nullptr;
  std::size_t count_ = 0;
  std::vector<Element> values_;    // of all rows, for lists
  std::vector<std::size_t> ends_;  // of each row in values_
};

}  // namespace distrib::inline v0::detail
