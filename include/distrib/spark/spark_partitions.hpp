// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/utf8.hpp>
#include <distrib/spark/spark_error.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What Spark calls the directory of rows whose partition column is null.
inline constexpr std::string_view null_partition = "__HIVE_DEFAULT_PARTITION__";

/// A value of a partition column, as text; none: null.
using SparkPartitionValue = std::optional<std::string>;

/// A partition column and the value that the name of a directory gives it. A value.
struct SparkPartition {
  std::string column;
  SparkPartitionValue value;
  friend auto operator==(const SparkPartition&, const SparkPartition&) -> bool = default;
};

/// `text` as a part of a directory's name: control characters and what stands in "#%'*/:=?\{[]^ and the double quote
/// become %XX; blanks and what is not ASCII stay.
template <class = void> [[nodiscard]] auto escape_partition(std::string_view text) -> std::string {
  constexpr std::string_view special = "\"#%'*/:=?\\{[]^\x7F";
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || special.find(c) != std::string_view::npos)
      escaped.append(1, '%').append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    else escaped += c;
  }
  return escaped;
}

/// The text that was escaped. A % without two digits behind it is itself; %80 to %FF are the characters U+0080 to
/// U+00FF, as for Spark.
template <class = void> [[nodiscard]] auto unescape_partition(std::string_view escaped) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    unsigned character = 0;
    const char* const digits = escaped.data() + i + 1;
    if (escaped[i] == '%' && i + 2 < escaped.size() &&
        std::from_chars(digits, digits + 2, character, 16).ptr == digits + 2) {
      detail::append_utf8(text, character);
      i += 2;
    } else {
      text += escaped[i];
    }
  }
  return text;
}

/// "kind=a%2Fb": the name of the directory of a partition. An empty value has no directory but that of null.
template <class = void> [[nodiscard]] auto partition_directory(const SparkPartition& partition) -> std::string {
  const bool null = !partition.value || partition.value->empty();
  return escape_partition(partition.column) + '=' +
         (null ? std::string{null_partition} : escape_partition(*partition.value));
}

/// What the name of a directory says; nothing: it is not of the form "k=v", with something in front of the first "=".
template <class = void>
[[nodiscard]] auto parse_partition_directory(std::string_view name) -> std::optional<SparkPartition> {
  const std::size_t equals = name.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  SparkPartition partition{unescape_partition(name.substr(0, equals)), {}};
  const std::string_view value = name.substr(equals + 1);
  if (value != null_partition) partition.value = unescape_partition(value);
  return partition;
}

namespace detail {

template <class T> [[nodiscard]] auto parse_number(std::string_view text, T& number) noexcept -> bool {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

/// As Java reads one, but for blanks around it, hexadecimal digits and the letters d and f behind it.
template <class = void> [[nodiscard]] auto parse_double(std::string_view text, double& number) noexcept -> bool {
  const bool signed_text = text.starts_with('-') || text.starts_with('+');
  const std::string_view word = text.substr(signed_text ? 1 : 0);
  const char first = word.empty() ? '\0' : word.front();
  const bool digits = first == '.' || (first >= '0' && first <= '9');  // from_chars takes "inf", "INF", "nan(7)" too
  return (digits || word == "NaN" || word == "Infinity") && parse_number(text, number);
}

[[nodiscard]] inline auto partition_type(std::string_view text) noexcept -> SparkKind {
  std::int32_t integer = 0;
  std::int64_t number = 0;
  double real = 0;
  if (parse_number(text, integer)) return SparkKind::integer;
  if (parse_number(text, number)) return SparkKind::long_;
  if (!parse_double(text, real)) return SparkKind::string;
  return text.find_first_not_of("+-0123456789") == std::string_view::npos ? SparkKind::decimal : SparkKind::double_;
}

[[nodiscard]] constexpr auto wider_partition(SparkKind a, SparkKind b) noexcept -> SparkKind {
  if (a == b || b == SparkKind::unknown) return a;
  if (a == SparkKind::unknown) return b;
  const SparkKind low = a < b ? a : b;
  const SparkKind high = a < b ? b : a;
  if (high == SparkKind::string || low == SparkKind::double_) return SparkKind::string;
  return high == SparkKind::double_ && low == SparkKind::long_ ? SparkKind::string : high;
}

}  // namespace detail

/// The type of a partition column that has these values, as Spark finds it out: Integer, Long, Decimal (whole numbers
/// beyond 64 bits), Double, else String; also String where the values are of several and no wider one holds all of them.
/// "007" is an Integer: bind a std::string to keep it. (Spark makes Date and Timestamp of texts of their form.)
template <class = void>
[[nodiscard]] auto infer_partition_type(const std::vector<SparkPartitionValue>& values) -> SparkType {
  SparkKind kind = SparkKind::unknown;
  for (const SparkPartitionValue& value : values)
    if (value) kind = detail::wider_partition(kind, detail::partition_type(*value));
  return {kind == SparkKind::unknown ? SparkKind::string : kind, 0};
}

/// A member that a partition column fills: no arrays, no vectors.
template <class M>
concept SparkPartitionMember = SparkMember<M> && detail::SparkTraits<M>::type.arrays == 0 &&
                               detail::SparkTraits<M>::type.kind != SparkKind::vector;

namespace detail {

template <class T> [[nodiscard]] auto parse_partition(const std::string& text, T& to) -> bool {
  if constexpr (std::is_same_v<T, bool>) {
    to = text == "true";
    return to || text == "false";
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    double number = 0;
    const bool good = parse_double(text, number);
    to = static_cast<T>(number);
    return good;
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

/// The text of a value that directories may be named after.
template <class T> [[nodiscard]] auto partition_text(const T& value) -> std::string {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>) return value;
  else return std::to_string(value);
}

}  // namespace detail

/// Puts the value of a partition column into a member. `spark_errc::null_value`: it is null and the member cannot be;
/// `bad_partition_value`: the text is no such number or truth; "" for `bool` and numbers.
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
