// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/detail/feature_slot.hpp>
#include <distrib/example/feature.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A column of a batch, whose type is not known.
template <class E> class AnyColumn {
 public:
  explicit AnyColumn(const FeatureSlot& slot) noexcept : slot_{slot} {}
  AnyColumn(const AnyColumn&) = delete;
  auto operator=(const AnyColumn&) -> AnyColumn& = delete;
  virtual ~AnyColumn() = default;

  [[nodiscard]] auto slot() const noexcept -> const FeatureSlot& { return slot_; }
  [[nodiscard]] auto name() const noexcept -> std::string_view { return slot_.name; }

  /// Copies row `i` into its member of `record`.
  virtual void load(std::size_t i, E& record) const noexcept = 0;

 private:
  const FeatureSlot& slot_;
};

/// A column of members of type M; the values lie in a slot. Its memory never shrinks.
template <class E, FeatureMember M> class Column final : public AnyColumn<E> {
 public:
  using Traits = MemberTraits<M>;

  Column(const FeatureSlot& slot, M E::* member) noexcept : AnyColumn<E>{slot}, member_{member} {}

  [[nodiscard]] auto member() const noexcept -> M E::* { return member_; }

  [[nodiscard]] auto rows(std::size_t count) const noexcept -> std::span<const M> {
    if constexpr (Traits::list) return lists_.template as<M>().first(count);
    else return this->slot().memory.template as<M>().first(count);
  }

  void load(std::size_t i, E& record) const noexcept override { record.*member_ = rows(i + 1)[i]; }

  /// Called after the last row: the values of lists do not move any more, so the spans can be made.
  void finish(std::size_t count) {
    if constexpr (Traits::list) {
      if (lists_.size() < count * sizeof(M)) lists_ = AlignedBuffer{count * sizeof(M)};
      const auto values = this->slot().values.template as<typename Traits::Element>();
      const auto splits = this->slot().splits.template as<std::int64_t>();
      for (std::size_t i = 0; i < count; ++i)
        lists_.template as<M>()[i] =
            values.subspan(static_cast<std::size_t>(splits[i]), static_cast<std::size_t>(splits[i + 1] - splits[i]));
    }
  }

 private:
  M E::* member_;
  AlignedBuffer lists_;  // spans of the values of each row
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
