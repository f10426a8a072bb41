// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Spark's name for the directory of rows whose partition column is null.
inline constexpr std::string_view null_partition = "__HIVE_DEFAULT_PARTITION__";

/// The value of a partition column as text; empty optional: null.
using SparkPartitionValue = std::optional<std::string>;

/// A partition column and its value, as the name of a directory says them. A value.
struct SparkPartition {
  std::string column;
  SparkPartitionValue value;
  friend auto operator==(const SparkPartition&, const SparkPartition&) -> bool = default;
};

/// Returns `text` as a part of a directory's name. Control characters, DEL, the double quote and each of #%'*/:=?\{[]^
/// become %XX; spaces and characters that are not ASCII stay.
[[nodiscard]] DISTRIB_DECL auto escape_partition(std::string_view text) -> std::string;

/// Returns the text that was escaped. A % without two hexadecimal digits behind it stays. %80 to %FF are the characters
/// U+0080 to U+00FF, as in Spark.
[[nodiscard]] DISTRIB_DECL auto unescape_partition(std::string_view escaped) -> std::string;

/// Returns the name of a partition's directory: "kind=a%2Fb". An empty value gets the directory of null, because no
/// name can express it.
[[nodiscard]] inline auto partition_directory(const SparkPartition& partition) -> std::string {
  const bool null = !partition.value || partition.value->empty();
  return escape_partition(partition.column) + '=' +
         (null ? std::string{null_partition} : escape_partition(*partition.value));
}

/// Parses the name of a directory. Returns nothing unless it has the form "k=v", with a non-empty k.
[[nodiscard]] DISTRIB_DECL auto parse_partition_directory(std::string_view name) -> std::optional<SparkPartition>;

namespace detail {

template <class T> [[nodiscard]] auto parse_number(std::string_view text, T& number) noexcept -> bool {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

/// Parses a number as Java does, except that it refuses surrounding blanks, hexadecimal digits, a d or f at the end,
/// and numbers beyond the range of a double. Returns false if it refuses.
[[nodiscard]] DISTRIB_DECL auto parse_double(std::string_view text, double& number) noexcept -> bool;

[[nodiscard]] DISTRIB_DECL auto partition_type(std::string_view text) noexcept -> SparkType::Kind;

[[nodiscard]] constexpr auto wider_partition(SparkType::Kind a, SparkType::Kind b) noexcept -> SparkType::Kind {
  if (a == b || b == SparkType::Kind::unknown) return a;
  if (a == SparkType::Kind::unknown) return b;
  const SparkType::Kind low = a < b ? a : b;
  const SparkType::Kind high = a < b ? b : a;
  if (high == SparkType::Kind::string || low == SparkType::Kind::double_) return SparkType::Kind::string;
  return high == SparkType::Kind::double_ && low == SparkType::Kind::long_ ? SparkType::Kind::string : high;
}

}  // namespace detail

/// Returns the type of a partition column with these values, by Spark's rules: Integer, Long, Decimal (whole numbers
/// beyond 64 bits), Double, otherwise String. If the values have several types: the wider type if it can hold all of
/// them, otherwise String. "007" is an Integer: bind a std::string to keep the zeros. (Spark also recognises Date and
/// Timestamp.)
[[nodiscard]] inline auto infer_partition_type(const std::vector<SparkPartitionValue>& values) -> SparkType {
  SparkType::Kind kind = SparkType::Kind::unknown;
  for (const SparkPartitionValue& value : values)
    if (value) kind = detail::wider_partition(kind, detail::partition_type(*value));
  return {kind == SparkType::Kind::unknown ? SparkType::Kind::string : kind, 0};
}

/// A member that a partition column can fill: not an array, and not a vector.
template <class M>
concept SparkPartitionMember = SparkMember<M> && detail::SparkTraits<M>::type.arrays == 0 &&
                               detail::SparkTraits<M>::type.kind != SparkType::Kind::vector;

namespace detail {

template <class T> [[nodiscard]] auto parse_partition(const std::string& text, T& to) -> bool {
  if constexpr (std::is_same_v<T, bool>) {
    to = text == "true";
    return to || text == "false";
  } else if constexpr (std::is_same_v<T, double>) {
    return parse_double(text, to);
  } else if constexpr (std::is_same_v<T, float>) {
    double number = 0;  // rounded twice, as in Spark
    return parse_double(text, number) && round_to_float(number, to);
  } else if constexpr (std::is_same_v<T, SparkDecimal>) {
    return parse_double(text, to.value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    to = text;
    return true;
  } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
    const ByteView bytes = as_bytes(text);
    to.assign(bytes.begin(), bytes.end());
    return true;
  } else {
    return parse_number(text, to);
  }
}

/// Returns a value as text for the name of a directory.
template <class T> [[nodiscard]] auto partition_text(const T& value) -> std::string {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>) return value;
  else return std::to_string(value);
}

}  // namespace detail

/// Sets a member to the value of a partition column.
///
/// Errors: `spark_errc::null_value` if the value is null and the member cannot be null; `bad_partition_value` if the
/// text is not a value of the member's type, such as "" for `bool` and numbers, or a number beyond the member's range,
/// such as "1e300" for a float (which Spark reads as infinity). The member is then unspecified. Without `ec` it throws
/// `std::system_error`.
template <SparkPartitionMember M>
void read_partition(const SparkPartitionValue& value, M& member, std::error_code& ec) {
  ec.clear();
  if constexpr (detail::SparkTraits<M>::nullable) {
    member.reset();
    if (value && !detail::parse_partition(*value, member.emplace())) ec = spark_errc::bad_partition_value;
  } else if (!value) {
    ec = spark_errc::null_value;
  } else if (!detail::parse_partition(*value, member)) {
    ec = spark_errc::bad_partition_value;
  }
}
template <SparkPartitionMember M> void read_partition(const SparkPartitionValue& value, M& member) {
  std::error_code ec;
  read_partition(value, member, ec);
  if (ec) throw_error(ec, value ? '"' + *value + '"' : std::string{"null"});
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/spark/impl/spark_partitions.ipp>
#endif
