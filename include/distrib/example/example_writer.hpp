// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/example/schema.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace distrib::inline v0 {

/// Writes records of struct E as serialized tf.train.Examples. Equal records give equal bytes: features in the order of
/// their names, each list in one packed piece. An empty span is written as a list without values. Memory is reused, so
/// that no write after the largest allocates. Movable; one thread at a time.
template <class E, FeatureMember... Ms>
class ExampleWriter {
 public:
  explicit ExampleWriter(const Schema<E, Ms...>& schema) : schema_{schema} {}

  /// The bytes of `record`, valid until the next write. Throws only `std::bad_alloc`.
  [[nodiscard]] auto write(const E& record) -> ByteView {
    wire_.clear();
    std::array<Sizes, sizeof...(Ms)> sizes{};
    std::size_t total = 0;
    for (const std::size_t i : schema_.by_name()) {
      with_feature(i, [&](const auto& f) { sizes[i] = measure(f.name(), record.*f.member()); });
      total += framed(sizes[i].entry);
    }
    begin(1, total);
    for (const std::size_t i : schema_.by_name())
      with_feature(i, [&](const auto& f) { put(f.name(), record.*f.member(), sizes[i]); });
    return wire_.view();
  }

 private:
  /// Bytes of a feature's nested messages, without what stands before each.
  struct Sizes {
    std::size_t values = 0;   // the packed numbers, or the bytes value
    std::size_t list = 0;     // BytesList, FloatList or Int64List
    std::size_t feature = 0;  // Feature
    std::size_t entry = 0;    // entry of the map
  };

  static constexpr auto varint_size(std::uint64_t value) noexcept -> std::size_t {
    return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
  }

  /// A field of `size` bytes with its tag, which is one byte for all fields here, and its length.
  static constexpr auto framed(std::size_t size) noexcept -> std::size_t { return 1 + varint_size(size) + size; }

  template <class M>
  static auto values_of(const M& member) noexcept {
    using Traits = detail::MemberTraits<M>;
    if constexpr (Traits::form == detail::Form::ragged)
      return member;
    else if constexpr (requires { member.data(); } && Traits::form == detail::Form::fixed)
      return std::span<const typename Traits::Element>{member};
    else
      return std::span<const typename Traits::Element>{&member, 1};
  }

  template <class M>
  static auto measure(std::string_view name, const M& member) noexcept -> Sizes {
    constexpr FeatureKind kind = detail::MemberTraits<M>::kind;
    Sizes sizes;
    if constexpr (kind == FeatureKind::bytes)
      sizes.values = member.size();
    else if constexpr (kind == FeatureKind::floats)
      sizes.values = values_of(member).size_bytes();
    else
      for (const std::int64_t value : values_of(member)) sizes.values += varint_size(static_cast<std::uint64_t>(value));
    const bool no_values = kind != FeatureKind::bytes && sizes.values == 0;
    sizes.list = no_values ? 0 : framed(sizes.values);
    sizes.feature = framed(sizes.list);
    sizes.entry = framed(name.size()) + framed(sizes.feature);
    return sizes;
  }

  template <class M>
  void put(std::string_view name, const M& member, const Sizes& sizes) {
    constexpr FeatureKind kind = detail::MemberTraits<M>::kind;
    begin(1, sizes.entry);
    wire_.text(1, name);
    begin(2, sizes.feature);
    begin(static_cast<std::uint32_t>(kind), sizes.list);
    if (sizes.list == 0) return;
    begin(1, sizes.values);
    if constexpr (kind == FeatureKind::bytes)
      wire_.raw(member);
    else if constexpr (kind == FeatureKind::floats)
      wire_.raw(std::as_bytes(values_of(member)));
    else
      for (const std::int64_t value : values_of(member)) wire_.raw_varint(static_cast<std::uint64_t>(value));
  }

  void begin(std::uint32_t field, std::size_t size) {
    wire_.raw_varint(wire_tag(field, WireType::bytes));
    wire_.raw_varint(size);
  }

  template <class F>
  void with_feature(std::size_t i, F&& f) {
    [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      ((Is == i ? f(std::get<Is>(schema_.features())) : void()), ...);
    }(std::index_sequence_for<Ms...>{});
  }

  Schema<E, Ms...> schema_;
  WireWriter wire_;
};

}  // namespace distrib::inline v0
