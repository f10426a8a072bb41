// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace distrib {
inline namespace v0 {

/// The three kinds of list that a feature may hold, with their field numbers in tf.train.Feature (feature.proto).
enum class FeatureKind : std::uint8_t {
  none = 0,  ///< No kind is set: the feature counts as missing.
  bytes = 1,
  floats = 2,
  int64s = 3,
};

/// Returns "bytes", "floats", "int64s" or "none".
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

/// What a member of type M holds: `kind`, and `count` values of type Element, or any number of them (`list`). Types
/// that fit no feature have no `kind`.
template <class M> struct MemberTraits {};

template <class T, FeatureKind Kind> struct ValueTraits {
  using Element = T;
  static constexpr auto kind = Kind;
  static constexpr bool list = false;
  static constexpr std::size_t count = 1;
};

template <> struct MemberTraits<float> : ValueTraits<float, FeatureKind::floats> {};
template <> struct MemberTraits<std::int64_t> : ValueTraits<std::int64_t, FeatureKind::int64s> {};
template <>
struct MemberTraits<std::span<const std::byte>> : ValueTraits<std::span<const std::byte>, FeatureKind::bytes> {};

template <class T, std::size_t N>
  requires(!MemberTraits<T>::list && N > 0 && sizeof(std::array<T, N>) == N * sizeof(T))
struct MemberTraits<std::array<T, N>> : MemberTraits<T> {
  static constexpr std::size_t count = N * MemberTraits<T>::count;
};

template <class T>
  requires std::is_same_v<typename MemberTraits<T>::Element, T>
struct MemberTraits<std::span<const T>> : MemberTraits<T> {
  static constexpr bool list = true;
};

}  // namespace detail

/// The types of struct members that a feature can fill:
///
/// | member | feature | missing |
/// |---|---|---|
/// | `float`, `std::int64_t`, `std::span<const std::byte>` | exactly one value | an error, or `otherwise` |
/// | `std::array` of a first-row type, also of several axes | exactly as many values | an error, or `otherwise` |
/// | `std::span<const T>`, T a first-row type | any number of values | an empty span |
///
/// There are no others, because tf.train.Example has no others: its integers have 64 bits, its other numbers are
/// floats.
template <class M>
concept FeatureMember = requires { detail::MemberTraits<M>::kind; };

namespace detail {

/// The name of a feature: a string literal, so that it outlives every schema.
struct FeatureName {
  std::string_view text;

  template <std::size_t N>
  consteval FeatureName(const char (&literal)[N]) : text{literal, N - 1} {}  // NOLINT: implicit on purpose
};

}  // namespace detail

/// A feature of a record, bound to a member of struct E. Made by `feature`. A value.
template <class E, FeatureMember M> class Feature {
 public:
  using Record = E;
  using Member = M;

  /// Binds the feature `name`, a string literal, to `member`.
  constexpr Feature(detail::FeatureName name, M E::* member) noexcept : name_{name.text}, member_{member} {}

  /// Returns the same feature with `value` as the default: for records that lack the feature, or have it without a
  /// kind. For numbers, bytes and arrays. If `value` has bytes, they must outlive what is parsed.
  [[nodiscard]] constexpr auto otherwise(M value) const noexcept -> Feature {
    static_assert(!detail::MemberTraits<M>::list,
                  "distrib: otherwise() is for numbers and arrays: a list that is missing is an empty span");
    Feature copy = *this;
    copy.fallback_ = value;
    return copy;
  }

  /// Return the name of the feature and the member that it fills.
  [[nodiscard]] constexpr auto name() const noexcept -> std::string_view { return name_; }
  [[nodiscard]] constexpr auto member() const noexcept -> M E::* { return member_; }
  /// Returns the default for records that lack the feature. Empty if there is none: a missing feature is then an error,
  /// or, if the member is a list, an empty span.
  [[nodiscard]] constexpr auto fallback() const noexcept -> const std::optional<M>& { return fallback_; }

 private:
  std::string_view name_;
  M E::* member_;
  std::optional<M> fallback_;
};

/// Binds the feature called `name` to a member of a struct: `feature("label", &Digit::label)`.
template <class E, FeatureMember M>
[[nodiscard]] constexpr auto feature(detail::FeatureName name, M E::* member) noexcept -> Feature<E, M> {
  return {name, member};
}

namespace detail {
/// Returned after a static_assert has explained the mistake, so that the compiler reports nothing else.
struct NoFeature {
  template <class T> constexpr auto otherwise(const T&) const -> NoFeature { return {}; }
};
}  // namespace detail

// For a member that fits no feature. It has the same parameter list, so the constrained overload is chosen whenever its
// concept holds.
template <class E, class M> constexpr auto feature(detail::FeatureName, M E::*) noexcept -> detail::NoFeature {
  constexpr bool fits = FeatureMember<M>;
  static_assert(fits,
                "distrib: a feature fills float, std::int64_t, std::array of these, std::span<const std::byte>, "
                "or std::span<const T> of float, std::int64_t or std::span<const std::byte>; change the type of the "
                "member");
  return {};
}

}  // namespace v0
}  // namespace distrib
