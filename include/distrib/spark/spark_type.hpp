// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The type of a column: a kind, in no, one or two levels of arrays. A value.
struct SparkType {
  /// What one value of a column is. Three of them are what records hold, the others become one of these.
  enum class Kind : std::uint8_t {
    unknown,  ///< Of a column that nobody has seen a value of.
    boolean,  ///< 0 or 1 in an int64_list.
    integer,  ///< 32 bits.
    long_,    ///< 64 bits: int64_list.
    float_,   ///< float_list.
    double_,  ///< Rounded to float32 in a record.
    decimal,  ///< The same.
    string,   ///< bytes_list.
    binary,
    vector,   ///< Of Spark's machine learning: doubles, in a record a float_list. A type of its own, no array.
  };

  Kind kind = Kind::unknown;
  unsigned arrays = 0;

  friend constexpr auto operator==(const SparkType&, const SparkType&) noexcept -> bool = default;
};

/// A column by name. A value.
struct SparkColumn {
  std::string name;
  SparkType type;
  bool nullable = true;
};

/// Which of two messages a record is.
enum class SparkRecordType : std::uint8_t {
  example,
  sequence_example,  ///< Arrays of arrays are its feature lists, all else its context.
};

/// Whose rules hold where the connector (spark-tensorflow-connector 1.11) loses data or fails without need.
enum class SparkRules : std::uint8_t {
  checked,         ///< Nothing is lost without an error, and what can be read is read.
  like_connector,  ///< As the connector does, with its defects: to find out what Spark makes of records.
};

namespace detail {
inline constexpr std::array<std::string_view, 10> spark_kinds{"Null",   "Boolean", "Integer", "Long",   "Float",
                                                              "Double", "Decimal", "String",  "Binary", "Vector"};
}  // namespace detail

/// "Long", "Array<Array<Float>>".
[[nodiscard]] inline auto to_text(SparkType type) -> std::string {
  std::string text{detail::spark_kinds[static_cast<std::size_t>(type.kind)]};
  for (unsigned i = 0; i < type.arrays; ++i) text = "Array<" + text + ">";
  return text;
}

namespace detail {

/// The type of this text, as `to_text` writes it. Throws `std::system_error` with `spark_errc::unsupported_type`: for
/// what Spark has and records have not (Timestamp, Date, Byte, Short, structs, maps), arrays of vectors, and more than
/// two levels of arrays.
[[nodiscard]] DISTRIB_DECL auto parse_spark_type(std::string_view text, std::error_code& ec) noexcept -> SparkType;
[[nodiscard]] DISTRIB_DECL auto parse_spark_type(std::string_view text) -> SparkType;

/// The type of record that the connector's option `recordType` calls so: "Example", "SequenceExample", case counts.
/// Throws `std::system_error` with `spark_errc::unknown_record_type`.
[[nodiscard]] DISTRIB_DECL auto parse_record_type(std::string_view text, std::error_code& ec) noexcept
    -> SparkRecordType;
[[nodiscard]] DISTRIB_DECL auto parse_record_type(std::string_view text) -> SparkRecordType;

/// Where a type stands when two records disagree and the connector takes the higher: 1 to 9 of Long, Float, String,
/// their arrays, and arrays of those; 0 of the types that are never inferred.
[[nodiscard]] constexpr auto precedence(SparkType type) noexcept -> unsigned {
  unsigned kind = 0;
  if (type.kind == SparkType::Kind::long_) kind = 1;
  if (type.kind == SparkType::Kind::float_) kind = 2;
  if (type.kind == SparkType::Kind::string) kind = 3;
  return kind == 0 || type.arrays > 2 ? 0 : 3 * type.arrays + kind;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_type.ipp>
#endif
