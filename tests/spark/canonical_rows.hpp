// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/json_text.hpp>
#include <distrib/spark/spark_schema.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Rows as lines of JSON that two programs can compare: columns sorted by name, bytes as "b64:...", floats as text with
/// nine digits, decimals as text. tests/interop/spark.py writes the same lines.
namespace canonical {

inline auto base64(const std::vector<std::byte>& bytes) -> std::string {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : digits[word >> (18 - 6 * k) & 63];
  }
  return text;
}

inline auto digits(double value) -> std::string {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

template <class T> auto json(const T& value) -> std::string {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>)
    return '"' + digits(static_cast<double>(value)) + '"';
  else return distrib::json_text(value);
}
inline auto json(const distrib::SparkDecimal& value) -> std::string { return '"' + digits(value.value) + '"'; }
inline auto json(const std::vector<std::byte>& value) -> std::string {
  return std::string{"\"b64:"}.append(base64(value)).append("\"");
}
template <class T> auto json(const std::vector<T>& values) -> std::string {
  std::string text = "[";
  for (const auto& value : values) text.append(text.size() == 1 ? "" : ",").append(json(static_cast<const T&>(value)));
  return text += ']';
}
inline auto json(const distrib::SparkVector& value) -> std::string { return json(value.values); }
template <class T> auto json(const std::optional<T>& value) -> std::string { return value ? json(*value) : "null"; }

template <class E, class... Ms> auto line(const distrib::SparkSchema<E, Ms...>& schema, const E& row) -> std::string {
  std::map<std::string_view, std::string> columns;
  schema.for_each(row, [&](const auto& column, const auto& value) { columns[column.name()] = json(value); });
  std::string text = "{";
  for (const auto& [name, value] : columns)
    text.append(text.size() == 1 ? "" : ",").append(distrib::json_text(name)).append(":").append(value);
  return text += '}';
}

/// A row with one column of each type in the stored directories.
struct Everything {
  std::int64_t id = 0;
  std::optional<std::int32_t> i;
  std::optional<float> f;
  std::optional<double> d;
  std::optional<distrib::SparkDecimal> dec;
  std::optional<std::string> s;
  std::optional<std::vector<std::byte>> b;
  std::optional<std::vector<std::int32_t>> ai;
  std::optional<std::vector<std::int64_t>> al;
  std::optional<std::vector<float>> af;
  std::optional<std::vector<double>> ad;
  std::optional<std::vector<std::string>> asx;
  std::optional<std::vector<std::vector<std::byte>>> ab;
};

inline constexpr auto everything = distrib::spark_schema<Everything>(
    distrib::spark_column("id", &Everything::id), distrib::spark_column("i", &Everything::i),
    distrib::spark_column("f", &Everything::f), distrib::spark_column("d", &Everything::d),
    distrib::spark_column("dec", &Everything::dec), distrib::spark_column("s", &Everything::s),
    distrib::spark_column("b", &Everything::b), distrib::spark_column("ai", &Everything::ai),
    distrib::spark_column("al", &Everything::al), distrib::spark_column("af", &Everything::af),
    distrib::spark_column("ad", &Everything::ad), distrib::spark_column("asx", &Everything::asx),
    distrib::spark_column("ab", &Everything::ab));

/// A row of the partitioned directories.
struct Partitioned {
  std::int64_t id = 0;
  std::optional<std::string> s;
  std::int32_t shard = 0;
  std::optional<std::string> kind;
};

inline constexpr auto partitioned = distrib::spark_schema<Partitioned>(
    distrib::spark_column("id", &Partitioned::id), distrib::spark_column("s", &Partitioned::s),
    distrib::spark_column("shard", &Partitioned::shard), distrib::spark_column("kind", &Partitioned::kind));

/// A row of SequenceExamples.
struct Sequence {
  std::int64_t id = 0;
  std::optional<std::string> s;
  std::optional<std::vector<float>> af;
  std::optional<std::vector<std::vector<std::int64_t>>> xs;
  std::optional<std::vector<std::vector<float>>> fs;
  std::optional<std::vector<std::vector<std::string>>> ts;
};

inline constexpr auto sequence = distrib::spark_schema<Sequence>(
    distrib::spark_column("id", &Sequence::id), distrib::spark_column("s", &Sequence::s),
    distrib::spark_column("af", &Sequence::af), distrib::spark_column("xs", &Sequence::xs),
    distrib::spark_column("fs", &Sequence::fs), distrib::spark_column("ts", &Sequence::ts));

}  // namespace canonical
