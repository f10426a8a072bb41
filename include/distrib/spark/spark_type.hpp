// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The type of a column: a kind of values, and how many levels of arrays contain them (0, 1 or 2). A value.
struct SparkType {
  /// The kind of one value. Records have only int64_list, float_list and bytes_list; the comments say which is used.
  enum class Kind : std::uint8_t {
    unknown,  ///< A column whose values were never seen.
    boolean,  ///< 0 or 1 in an int64_list.
    integer,  ///< 32 bits, in an int64_list.
    long_,  ///< 64 bits, in an int64_list.
    float_,  ///< In a float_list.
    double_,  ///< Rounded to float32 in a float_list.
    decimal,  ///< Rounded to float32 in a float_list.
    string,  ///< In a bytes_list.
    binary,  ///< In a bytes_list.
    /// A vector of Spark's machine learning: doubles, rounded to float32 in a float_list. A kind of its own, not an
    /// array.
    vector,
  };

  Kind kind = Kind::unknown;  ///< The kind of one value.
  unsigned arrays = 0;  ///< 1: an array of values; 2: an array of arrays.

  friend constexpr auto operator==(const SparkType&, const SparkType&) noexcept -> bool = default;
};

/// A column of a table. A value.
struct SparkColumn {
  std::string name;  ///< Name of the column.
  SparkType type;  ///< Type of the values.
  bool nullable = true;  ///< True: a row may have no value.
};

/// The message type of the records.
enum class SparkRecordType : std::uint8_t {
  example,  ///< tf.train.Example.
  /// tf.train.SequenceExample. Arrays of arrays are its feature lists, all other columns its context.
  sequence_example,
};

/// What to do where the connector (spark-tensorflow-connector 1.11) loses data or fails unnecessarily.
enum class SparkRules : std::uint8_t {
  checked,  ///< No data are lost without an error, and everything readable is read.
  like_connector,  ///< Do as the connector does, with its defects: shows what Spark would read.
};

namespace detail {
inline constexpr std::array<std::string_view, 10> spark_kinds{"Null",   "Boolean", "Integer", "Long",   "Float",
                                                              "Double", "Decimal", "String",  "Binary", "Vector"};
}  // namespace detail

/// Returns a type as text: "Long", "Array<Array<Float>>".
[[nodiscard]] inline auto to_text(SparkType type) -> std::string {
  std::string text{detail::spark_kinds[static_cast<std::size_t>(type.kind)]};
  for (unsigned i = 0; i < type.arrays; ++i) text = "Array<" + text + ">";
  return text;
}

namespace detail {

/// Parses a type in the form of `to_text`. Throws `std::system_error` with `spark_errc::unsupported_type`, or sets
/// `ec`, for types that records cannot hold (Timestamp, Date, Byte, Short, structs, maps), for Null, for arrays of
/// vectors, and for more than two levels of arrays.
[[nodiscard]] DISTRIB_DECL auto parse_spark_type(std::string_view text, std::error_code& ec) noexcept -> SparkType;
[[nodiscard]] DISTRIB_DECL auto parse_spark_type(std::string_view text) -> SparkType;

/// Parses a value of the connector's option `recordType`: "Example" or "SequenceExample", in this spelling. Throws
/// `std::system_error` with `spark_errc::unknown_record_type`, or sets `ec`.
[[nodiscard]] DISTRIB_DECL auto parse_record_type(std::string_view text, std::error_code& ec) noexcept
    -> SparkRecordType;
[[nodiscard]] DISTRIB_DECL auto parse_record_type(std::string_view text) -> SparkRecordType;

/// Returns the rank of a type; if two records disagree, the connector uses the type with the higher rank. 1 to 9: Long,
/// Float, String, then arrays of these, then arrays of arrays. 0: types that are never inferred.
[[nodiscard]] constexpr auto precedence(SparkType type) noexcept -> unsigned {
  unsigned kind = 0;
  if (type.kind == SparkType::Kind::long_) kind = 1;
  if (type.kind == SparkType::Kind::float_) kind = 2;
  if (type.kind == SparkType::Kind::string) kind = 3;
  return kind == 0 || type.arrays > 2 ? 0 : 3 * type.arrays + kind;
}

/// Rounds `value` to `to`. Returns false if `value` is finite but a float would have to be infinite; `to` is then
/// infinity with the sign of `value`. (The conversion itself would be undefined behaviour.)
[[nodiscard]] constexpr auto round_to_float(double value, float& to) noexcept -> bool {
  constexpr double limit = 0x1.ffffffp127;  // from here on a float rounds to infinity
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double size = value < 0 ? -value : value;
  const bool fits = !(size >= limit && size < infinity);  // NaN fits
  if (fits) to = static_cast<float>(value);
  else to = value < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  return fits;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_type.ipp>
#endif
