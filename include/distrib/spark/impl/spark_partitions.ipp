// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_partitions.hpp>

#include <distrib/core/utf8.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto escape_partition(std::string_view text) -> std::string {
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

DISTRIB_DECL auto unescape_partition(std::string_view escaped) -> std::string {
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

DISTRIB_DECL auto parse_partition_directory(std::string_view name) -> std::optional<SparkPartition> {
  const std::size_t equals = name.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  SparkPartition partition{unescape_partition(name.substr(0, equals)), {}};
  const std::string_view value = name.substr(equals + 1);
  if (value != null_partition) partition.value = unescape_partition(value);
  return partition;
}

namespace detail {

DISTRIB_DECL auto parse_double(std::string_view text, double& number) noexcept -> bool {
  const bool signed_text = text.starts_with('-') || text.starts_with('+');
  const std::string_view word = text.substr(signed_text ? 1 : 0);
  const char first = word.empty() ? '\0' : word.front();
  const bool digits = first == '.' || (first >= '0' && first <= '9');  // from_chars also accepts "inf", "INF", "nan(7)"
  return (digits || word == "NaN" || word == "Infinity") && parse_number(text, number);
}

DISTRIB_DECL auto partition_type(std::string_view text) noexcept -> SparkType::Kind {
  std::int32_t integer = 0;
  std::int64_t number = 0;
  double real = 0;
  if (parse_number(text, integer)) return SparkType::Kind::integer;
  if (parse_number(text, number)) return SparkType::Kind::long_;
  if (!parse_double(text, real)) return SparkType::Kind::string;
  return text.find_first_not_of("+-0123456789") == std::string_view::npos ? SparkType::Kind::decimal
                                                                          : SparkType::Kind::double_;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
