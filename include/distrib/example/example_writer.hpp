// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/detail/feature_encoder.hpp>
#include <distrib/example/schema.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace distrib {
inline namespace v0 {

/// Writes records of struct E as serialized tf.train.Examples. Equal records make equal bytes: features in the order of
/// their names, each list in one packed piece. An empty span is written as a list without values. Memory is reused:
/// after the largest record no write allocates. Movable.
///
/// Threads: one at a time.
template <class E, FeatureMember... Ms> class ExampleWriter {
 public:
  /// The writer does not refer to `schema` after this.
  explicit ExampleWriter(const Schema<E, Ms...>& schema) {
    const E probe{};
    const auto describe = [&probe](const auto& f) -> Field {
      using Traits = detail::MemberTraits<typename std::remove_cvref_t<decltype(f)>::Member>;
      const auto* const member = reinterpret_cast<const std::byte*>(&(probe.*f.member()));
      const bool number = !Traits::list && Traits::count == 1 && Traits::kind != FeatureKind::bytes &&
                          f.name().size() <= detail::NumberEntry::longest_name;
      return {number ? detail::NumberEntry{f.name(), Traits::kind} : detail::NumberEntry{},
              f.name(),
              Traits::kind,
              number,
              Traits::list,
              Traits::count,
              member - reinterpret_cast<const std::byte*>(&probe)};
    };
    const auto given = std::apply([&](const auto&... f) { return std::array{describe(f)...}; }, schema.features());
    for (std::size_t i = 0; i < given.size(); ++i) fields_[i] = given[schema.by_name()[i]];
  }

  /// Returns the bytes of `record`, valid until the next write. Throws only `std::bad_alloc`.
  [[nodiscard]] auto write(const E& record) -> ByteView {
    const auto* const base = reinterpret_cast<const std::byte*>(&record);
    std::byte* to = encoder_.start(fields_.size());
    for (const Field& field : fields_) {
      const std::byte* const member = base + field.offset;
      if (!field.number) {
        to = encoder_.put(to, field.name, field.values(member), fields_.size());
      } else if (field.kind == FeatureKind::floats) {
        to = field.entry.put(to, sizeof(float));
        std::memcpy(to, member, sizeof(float));
        to += sizeof(float);
      } else if constexpr (has_integers) {  // without this, g++ warns of a read outside a struct that has only floats
        const auto value = load_le<std::uint64_t>(member);
        const std::size_t size = detail::varint_size(value);
        to = field.entry.put(to, size);
        detail::put_varint(to, value, size);
        to += size;
      }
    }
    return encoder_.finish(to);
  }

 private:
  static constexpr bool has_integers = ((detail::MemberTraits<Ms>::kind == FeatureKind::int64s) || ...);

  /// How a member is written, and its offset in E.
  struct Field {
    detail::NumberEntry entry;
    std::string_view name;
    FeatureKind kind = FeatureKind::none;
    // a single number, whose beginning is `entry`
    bool number = false;
    bool list = false;
    std::size_t count = 0;
    std::ptrdiff_t offset = 0;

    [[nodiscard]] auto values(const std::byte* member) const noexcept -> detail::FeatureValues {
      if (!list) return {kind, member, count};
      if (kind == FeatureKind::floats) return of(*reinterpret_cast<const std::span<const float>*>(member));
      if (kind == FeatureKind::int64s) return of(*reinterpret_cast<const std::span<const std::int64_t>*>(member));
      return of(*reinterpret_cast<const std::span<const ByteView>*>(member));
    }
    template <class T> [[nodiscard]] auto of(std::span<const T> list_of) const noexcept -> detail::FeatureValues {
      return {kind, reinterpret_cast<const std::byte*>(list_of.data()), list_of.size()};
    }
  };

  std::array<Field, sizeof...(Ms)> fields_;
  detail::FeatureEncoder encoder_;
};

}  // namespace v0
}  // namespace distrib
