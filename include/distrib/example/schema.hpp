// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/detail/key_table.hpp>
#include <distrib/example/error.hpp>
#include <distrib/example/feature.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace distrib {
inline namespace v0 {

/// How the features of a tf.train.Example fill a struct E, the record: one feature for each bound member; the members
/// have the types Ms. Made by `schema`. A value, usable in constexpr.
///
/// Threads: const access from any thread.
template <class E, FeatureMember... Ms> class Schema {
  static_assert(sizeof...(Ms) > 0, "distrib: a schema needs at least one feature");
  static_assert(std::is_default_constructible_v<E>, "distrib: the struct of a schema needs a default constructor");

 public:
  using Record = E;
  static constexpr std::size_t size = sizeof...(Ms);  ///< Number of features.

  /// Throws `std::system_error` with `example_errc::duplicate_feature` if two features have the same name, or if a
  /// member is bound twice; a constexpr schema then does not compile.
  constexpr explicit Schema(Feature<E, Ms>... features) : features_{features...} {
    for (std::size_t i = 0; i < size; ++i) by_name_[i] = i;
    const std::array<std::string_view, size> names{features.name()...};
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
    for (std::size_t i = 1; i < size; ++i)
      if (names[by_name_[i - 1]] == names[by_name_[i]]) refuse(names[by_name_[i]]);
    keys_.fill(names.data(), size, cells_.data(), cells_.size());
    if (!((times_bound(features.member(), features...) == 1) && ...)) refuse("a member that is bound twice");
  }

  /// Returns the features in the order in which they were passed.
  [[nodiscard]] constexpr auto features() const noexcept -> const std::tuple<Feature<E, Ms>...>& { return features_; }

  /// Returns the positions of the features, ordered by name: what is written does not depend on the order of the
  /// schema.
  [[nodiscard]] constexpr auto by_name() const noexcept -> const std::array<std::size_t, size>& { return by_name_; }

 private:
  template <class M, class... Fs> static constexpr auto times_bound(M E::* member, const Fs&... features) -> int {
    const auto same = [member](const auto& other) {
      if constexpr (std::is_same_v<decltype(other.member()), M E::*>) return other.member() == member;
      else return false;
    };
    return (static_cast<int>(same(features)) + ...);
  }

  [[noreturn]] static void refuse(std::string_view what) { throw_error(example_errc::duplicate_feature, what); }

  template <class, FeatureMember...> friend class ExampleParser;

  std::tuple<Feature<E, Ms>...> features_;
  std::array<std::size_t, size> by_name_{};
  std::array<detail::KeyCell, detail::key_cells(size)> cells_{};
  detail::KeyTable keys_;
};

namespace detail {

template <class F, class E> inline constexpr bool is_feature_of = false;
template <class E, class M> inline constexpr bool is_feature_of<Feature<E, M>, E> = true;

/// Returned after a static_assert has explained the mistake, so that the compiler reports nothing else.
struct NoSchema {};

/// Explains to the user, by static_assert, that arguments are not features of struct E.
template <class E, class... Fs> constexpr void explain_schema() {
  constexpr bool said_already = (std::is_same_v<Fs, NoFeature> || ...);
  constexpr bool all_of_one = said_already || (is_feature_of<Fs, E> && ...);
  static_assert(all_of_one,
                "distrib: a schema takes feature(\"name\", &Struct::member), ..., all of them members of one struct "
                "(not of its bases)");
}

}  // namespace detail

/// Returns a schema of struct E: `schema<Digit>(feature("image", &Digit::image), feature("label", &Digit::label))`.
/// Throws `std::system_error` with `example_errc::duplicate_feature` if two features have the same name, or if a member
/// is bound twice; a constexpr schema then does not compile.
template <class E, class... Fs>
  requires(detail::is_feature_of<Fs, E> && ...)
[[nodiscard]] constexpr auto schema(Fs... features) -> Schema<E, typename Fs::Member...> {
  return Schema<E, typename Fs::Member...>{features...};
}

// For arguments that are not features of E.
template <class E, class... Fs> constexpr auto schema(Fs...) -> detail::NoSchema {
  detail::explain_schema<E, Fs...>();
  return {};
}

}  // namespace v0
}  // namespace distrib
