// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

namespace distrib::inline v0 {

/// The three kinds of list that a feature may hold, by their field numbers in tf.train.Feature (feature.proto).
enum class FeatureKind : std::uint8_t {
  none = 0,  ///< No kind is set: the feature counts as missing.
  bytes = 1,
  floats = 2,
  int64s = 3,
};

/// "bytes", "floats", "int64s", or "none".
[[nodiscard]] constexpr auto name(FeatureKind kind) noexcept -> std::string_view {
  switch (kind) {
    case FeatureKind::bytes: return "bytes";
    case FeatureKind::floats: return "floats";
    case FeatureKind::int64s: return "int64s";
    case FeatureKind::none: break;
  }
  return "none";
}

namespace detail {

/// How the values of a feature lie in a member of this type.
enum class Form : std::uint8_t {
  fixed,   // so many numbers, inside the member
  ragged,  // any number of numbers, which the batch owns
  view,    // one value of bytes, which somebody else owns
};

/// What a member of type M holds; no `kind` for types that fit no feature.
template <class M>
struct MemberTraits {};

template <>
struct MemberTraits<float> {
  using Element = float;
  static constexpr auto kind = FeatureKind::floats;
  static constexpr auto form = Form::fixed;
  static constexpr std::size_t count = 1;
};

template <>
struct MemberTraits<std::int64_t> {
  using Element = std::int64_t;
  static constexpr auto kind = FeatureKind::int64s;
  static constexpr auto form = Form::fixed;
  static constexpr std::size_t count = 1;
};

template <class T, std::size_t N>
  requires(MemberTraits<T>::form == Form::fixed && N > 0 && sizeof(std::array<T, N>) == N * sizeof(T) &&
           !requires { std::tuple_size<T>::value; })
struct MemberTraits<std::array<T, N>> : MemberTraits<T> {
  static constexpr std::size_t count = N;
};

template <class T>
  requires(MemberTraits<T>::form == Form::fixed && !requires { std::tuple_size<T>::value; })
struct MemberTraits<std::span<const T>> : MemberTraits<T> {
  static constexpr auto form = Form::ragged;
};

template <>
struct MemberTraits<std::span<const std::byte>> {
  using Element = std::span<const std::byte>;
  static constexpr auto kind = FeatureKind::bytes;
  static constexpr auto form = Form::view;
  static constexpr std::size_t count = 1;
};

}  // namespace detail

/// Types of struct members that a feature can fill:
///
/// | member                                                    | feature                 | missing                  |
/// |---|---|---|
/// | `float`, `std::int64_t`                                   | exactly one number      | an error, or `otherwise` |
/// | `std::array<float, N>`, `std::array<std::int64_t, N>`     | exactly N numbers       | an error, or `otherwise` |
/// | `std::span<const float>`, `std::span<const std::int64_t>` | any number of numbers   | an empty span            |
/// | `std::span<const std::byte>`                              | exactly one bytes value | an error                 |
///
/// There are no others, because tf.train.Example has no others: integers are 64 bits wide, numbers are floats.
template <class M>
concept FeatureMember = requires { detail::MemberTraits<M>::kind; };

/// The name of a feature: a string literal, so that it outlives every schema.
struct FeatureName {
  std::string_view text;

  template <std::size_t N>
  consteval FeatureName(const char (&literal)[N]) : text{literal, N - 1} {}  // NOLINT: implicit on purpose
};

/// A feature of a record bound to a member of struct E. Made by `feature`. A value.
template <class E, FeatureMember M>
class Feature {
 public:
  using Record = E;
  using Member = M;

  constexpr Feature(FeatureName name, M E::* member) noexcept : name_{name.text}, member_{member} {}

  /// The same, with `value` for records that lack the feature. For numbers and arrays.
  [[nodiscard]] constexpr auto otherwise(M value) const noexcept -> Feature {
    static_assert(detail::MemberTraits<M>::form != detail::Form::ragged,
                  "distrib: otherwise() is for numbers and arrays: a list that is missing is an empty span");
    static_assert(detail::MemberTraits<M>::form != detail::Form::view,
                  "distrib: otherwise() is for numbers and arrays: bytes must be in every record");
    Feature copy = *this;
    copy.fallback_ = value;
    return copy;
  }

  [[nodiscard]] constexpr auto name() const noexcept -> std::string_view { return name_; }
  [[nodiscard]] constexpr auto member() const noexcept -> M E::* { return member_; }
  /// What stands in for a missing feature; empty when that is an error.
  [[nodiscard]] constexpr auto fallback() const noexcept -> const std::optional<M>& { return fallback_; }

 private:
  std::string_view name_;
  M E::* member_;
  std::optional<M> fallback_;
};

/// Binds the feature called `name` to a member of a struct: `feature("label", &Digit::label)`.
template <class E, FeatureMember M>
[[nodiscard]] constexpr auto feature(FeatureName name, M E::* member) noexcept -> Feature<E, M> {
  return {name, member};
}

namespace detail {
/// Returned where a sentence of ours was the answer, so that nothing else is reported.
struct NoFeature {
  template <class T>
  constexpr auto otherwise(const T&) const -> NoFeature {
    return {};
  }
};
}  // namespace detail

// The twin: same parameter list, so that the constrained one wins whenever its concept holds.
template <class E, class M>
constexpr auto feature(FeatureName, M E::*) noexcept -> detail::NoFeature {
  constexpr bool fits = FeatureMember<M>;
  static_assert(fits,
                "distrib: a feature fills float, std::int64_t, std::array of these, std::span<const float>, "
                "std::span<const std::int64_t> or std::span<const std::byte>; change the type of the member");
  return {};
}

}  // namespace distrib::inline v0
