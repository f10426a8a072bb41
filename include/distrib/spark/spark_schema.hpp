// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/example/feature.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A number that is a Decimal in Spark. In records it is a float32.
struct SparkDecimal {
  double value = 0;  ///< Rounded to float32 when it is written.
  friend auto operator==(const SparkDecimal&, const SparkDecimal&) noexcept -> bool = default;
};

/// A dense vector of Spark's machine learning.
struct SparkVector {
  std::vector<double> values;  ///< All elements, zeros too.
  friend auto operator==(const SparkVector&, const SparkVector&) noexcept -> bool = default;
};

/// A sparse vector of Spark's machine learning. In records it is dense and is read as a SparkVector, so a member of
/// this type can only be written.
struct SparkSparseVector {
  std::size_t size = 0;  ///< At most 2^31 - 1.
  std::vector<std::size_t> indices;  ///< Below `size`.
  std::vector<double> values;  ///< Values at `indices`, the same number.
  friend auto operator==(const SparkSparseVector&, const SparkSparseVector&) noexcept -> bool = default;
};

namespace detail {

/// The column type of a member of type M. Has no `type` if M cannot be a column.
template <class M> struct SparkTraits {};

template <SparkType::Kind Kind> struct SparkValueTraits {
  static constexpr SparkType type{Kind, 0};
  static constexpr bool nullable = false;
};
template <> struct SparkTraits<bool> : SparkValueTraits<SparkType::Kind::boolean> {};
template <> struct SparkTraits<std::int32_t> : SparkValueTraits<SparkType::Kind::integer> {};
template <> struct SparkTraits<std::int64_t> : SparkValueTraits<SparkType::Kind::long_> {};
template <> struct SparkTraits<float> : SparkValueTraits<SparkType::Kind::float_> {};
template <> struct SparkTraits<double> : SparkValueTraits<SparkType::Kind::double_> {};
template <> struct SparkTraits<SparkDecimal> : SparkValueTraits<SparkType::Kind::decimal> {};
template <> struct SparkTraits<std::string> : SparkValueTraits<SparkType::Kind::string> {};
template <> struct SparkTraits<std::vector<std::byte>> : SparkValueTraits<SparkType::Kind::binary> {};
template <> struct SparkTraits<SparkVector> : SparkValueTraits<SparkType::Kind::vector> {};
template <> struct SparkTraits<SparkSparseVector> : SparkValueTraits<SparkType::Kind::vector> {};

template <class T>
  requires(SparkTraits<T>::type.arrays < 2 && SparkTraits<T>::type.kind != SparkType::Kind::vector &&
           !SparkTraits<T>::nullable)
struct SparkTraits<std::vector<T>> {
  static constexpr SparkType type{SparkTraits<T>::type.kind, SparkTraits<T>::type.arrays + 1};
  static constexpr bool nullable = false;
};

template <class T>
  requires(!SparkTraits<T>::nullable)
struct SparkTraits<std::optional<T>> : SparkTraits<T> {
  static constexpr bool nullable = true;
};

}  // namespace detail

/// Types of struct members that can be columns of Spark:
///
/// | member | column |
/// |---|---|
/// | `bool`, `std::int32_t`, `std::int64_t` | Boolean, Integer, Long |
/// | `float`, `double`, `SparkDecimal` | Float, Double, Decimal |
/// | `std::string`, `std::vector<std::byte>` | String, Binary |
/// | `std::vector<T>`, `std::vector<std::vector<T>>` of one of these | arrays, arrays of arrays |
/// | `SparkVector`, `SparkSparseVector` | Vector |
/// | `std::optional<T>` of one of these | the same, nullable |
template <class M>
concept SparkMember = requires { detail::SparkTraits<M>::type; };

namespace detail {

/// A column bound to a member of struct E. Made by `spark_column`. A value.
template <class E, SparkMember M> class SparkBoundColumn {
 public:
  using Record = E;
  using Member = M;

  constexpr SparkBoundColumn(FeatureName name, M E::* member) noexcept : name_{name.text}, member_{member} {}

  [[nodiscard]] constexpr auto name() const noexcept -> std::string_view { return name_; }
  [[nodiscard]] constexpr auto member() const noexcept -> M E::* { return member_; }
  [[nodiscard]] static constexpr auto type() noexcept -> SparkType { return detail::SparkTraits<M>::type; }
  /// True if the column can be null: the member is an optional, and `not_null` was not called.
  [[nodiscard]] constexpr auto nullable() const noexcept -> bool { return nullable_; }

  /// Returns the same column, but refuses null although the member could hold it.
  [[nodiscard]] constexpr auto not_null() const noexcept -> SparkBoundColumn {
    SparkBoundColumn copy = *this;
    copy.nullable_ = false;
    return copy;
  }

 private:
  std::string_view name_;
  M E::* member_;
  bool nullable_ = detail::SparkTraits<M>::nullable;
};

}  // namespace detail

/// Binds the column `name` to a member of a struct: `spark_column("user", &Click::user)`.
template <class E, SparkMember M>
[[nodiscard]] constexpr auto spark_column(detail::FeatureName name, M E::* member) noexcept
    -> detail::SparkBoundColumn<E, M> {
  return {name, member};
}

namespace detail {
/// Returned after one of our own compile-time messages, so that the compiler reports nothing else.
struct NoSparkColumn {
  [[nodiscard]] constexpr auto not_null() const -> NoSparkColumn { return {}; }
};
struct NoSparkSchema {};
}  // namespace detail

// The unconstrained overload: the same parameter list, so that the constrained one wins whenever its concept holds.
template <class E, class M> constexpr auto spark_column(detail::FeatureName, M E::*) noexcept -> detail::NoSparkColumn {
  constexpr bool fits = SparkMember<M>;
  static_assert(fits,
                "distrib: a column of Spark can fill bool, std::int32_t, std::int64_t, float, double, SparkDecimal, "
                "std::string, std::vector<std::byte>, SparkVector, std::vector of one of these (also of vectors), or "
                "std::optional of any; change the type of the member");
  return {};
}

/// Says which columns of a table fill which members of a struct E, the row. Made by `spark_schema`. A value, usable in
/// constant expressions; const access from any thread.
template <class E, SparkMember... Ms> class SparkSchema {
  static_assert(sizeof...(Ms) > 0, "distrib: a schema needs at least one column");
  static_assert(std::is_default_constructible_v<E>, "distrib: the struct of a schema needs a default constructor");

 public:
  using Row = E;
  static constexpr std::size_t size = sizeof...(Ms);  ///< Number of columns.

  /// Throws `std::system_error` with `spark_errc::duplicate_column` if a column or a member occurs twice; a constexpr
  /// schema then does not compile.
  constexpr explicit SparkSchema(detail::SparkBoundColumn<E, Ms>... columns) : columns_{columns...} {
    const std::array<std::string_view, size> names{columns.name()...};
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (names[i] == names[k]) throw_error(spark_errc::duplicate_column, names[i]);
    if (!((times_bound(columns.member(), columns...) == 1) && ...))
      throw_error(spark_errc::duplicate_column, "a member that is bound twice");
  }

  /// Returns the columns in the order in which they were passed.
  [[nodiscard]] constexpr auto bound() const noexcept -> const std::tuple<detail::SparkBoundColumn<E, Ms>...>& {
    return columns_;
  }

  /// Returns the names of the columns in the same order.
  [[nodiscard]] constexpr auto names() const noexcept -> std::array<std::string_view, size> {
    return std::apply([](const auto&... column) { return std::array<std::string_view, size>{column.name()...}; },
                      columns_);
  }

  /// Returns names, types and nullability of the columns.
  [[nodiscard]] auto columns() const -> std::vector<SparkColumn> {
    return std::apply(
        [](const auto&... column) {
          return std::vector<SparkColumn>{{std::string{column.name()}, column.type(), column.nullable()}...};
        },
        columns_);
  }

  /// Calls `visit(column, value)` for each column of a row, in order.
  template <class Visit> constexpr void for_each(const E& row, Visit&& visit) const {
    std::apply([&](const auto&... column) { (visit(column, row.*column.member()), ...); }, columns_);
  }

 private:
  template <class M, class... Cs> static constexpr auto times_bound(M E::* member, const Cs&... columns) -> int {
    const auto same = [member](const auto& other) {
      if constexpr (std::is_same_v<decltype(other.member()), M E::*>) return other.member() == member;
      else return false;
    };
    return (static_cast<int>(same(columns)) + ...);
  }

  std::tuple<detail::SparkBoundColumn<E, Ms>...> columns_;
};

namespace detail {

template <class C, class E> inline constexpr bool is_spark_column_of = false;
template <class E, class M> inline constexpr bool is_spark_column_of<SparkBoundColumn<E, M>, E> = true;

/// Fails to compile with our own message if an argument is not a column of struct E.
template <class E, class... Cs> constexpr void explain_spark_schema() {
  constexpr bool said_already = (std::is_same_v<Cs, NoSparkColumn> || ...);
  constexpr bool all_of_one = said_already || (is_spark_column_of<Cs, E> && ...);
  static_assert(all_of_one,
                "distrib: a schema of Spark takes spark_column(\"name\", &Struct::member), ..., all of them members of "
                "one struct (not of its bases)");
}

}  // namespace detail

/// Returns a schema of struct E: `spark_schema<Click>(spark_column("user", &Click::user), spark_column("ad",
/// &Click::ad))`. Throws `std::system_error` with `spark_errc::duplicate_column` if two columns have the same name,
/// byte by byte, or if two columns are bound to the same member; a constexpr schema then does not compile.
template <class E, class... Cs>
  requires(detail::is_spark_column_of<Cs, E> && ...)
[[nodiscard]] constexpr auto spark_schema(Cs... columns) -> SparkSchema<E, typename Cs::Member...> {
  return SparkSchema<E, typename Cs::Member...>{columns...};
}

// The unconstrained overload, for arguments that are not all columns of E.
template <class E, class... Cs> constexpr auto spark_schema(Cs...) -> detail::NoSparkSchema {
  detail::explain_spark_schema<E, Cs...>();
  return {};
}

}  // namespace v0
}  // namespace distrib
