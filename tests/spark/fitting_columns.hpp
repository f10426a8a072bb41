// SPDX-License-Identifier: Apache-2.0
// Checks columns that are known only at run time against records: decodes each column alone, as a struct of one member.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/spark/spark_decoder.hpp>
#include <distrib/spark/spark_schema.hpp>
#include <distrib/spark/spark_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fitting {

/// The result of decoding one column.
struct Fit {
  std::string failure;  ///< Empty: the column fits all records.
  std::size_t nulls = 0;  ///< Records in which it is null.
  std::size_t others = 0;  ///< Records in which it has no value, or several.
};

template <class M> struct OneMember {
  M x{};
};

template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;

template <class M>
auto decode_all(distrib::detail::FeatureName name, const std::vector<std::vector<std::byte>>& records,
                distrib::SparkRecordType record_type, distrib::SparkRules rules) -> Fit {
  Fit fit;
  const auto schema = distrib::spark_schema<OneMember<M>>(distrib::spark_column(name, &OneMember<M>::x));
  distrib::SparkDecoder decoder{schema, record_type, rules};
  for (const auto& record : records) {
    distrib::Error error;
    const OneMember<M> row = decoder.decode(distrib::ByteView{record}, error);
    if (error) fit.failure = error.where + ": " + error.code.message();
    if (error) return fit;
    const auto look = [&fit](const auto& value) {
      if constexpr (is_vector<std::remove_cvref_t<decltype(value)>>) fit.others += value.size() == 1 ? 0U : 1U;
    };
    if constexpr (distrib::detail::is_optional<M>) {
      if (row.x) look(*row.x);
      else ++fit.nulls;
    } else {
      look(row.x);
    }
  }
  return fit;
}

/// The names of columns in these tests.
inline auto known_name(std::string_view name) -> std::optional<distrib::detail::FeatureName> {
  for (const distrib::detail::FeatureName known :
       {distrib::detail::FeatureName{"a"}, distrib::detail::FeatureName{"b"}, distrib::detail::FeatureName{"c"},
        distrib::detail::FeatureName{"id"}, distrib::detail::FeatureName{"i"}, distrib::detail::FeatureName{"f"},
        distrib::detail::FeatureName{"d"}, distrib::detail::FeatureName{"dec"}, distrib::detail::FeatureName{"s"},
        distrib::detail::FeatureName{"ai"}, distrib::detail::FeatureName{"al"}, distrib::detail::FeatureName{"af"},
        distrib::detail::FeatureName{"ad"}, distrib::detail::FeatureName{"asx"}, distrib::detail::FeatureName{"ab"}})
    if (known.text == name) return known;
  return std::nullopt;
}

/// Decodes one column of `records`, with the type that `SparkSchemaInference` found.
inline auto fit(const distrib::SparkColumn& column, const std::vector<std::vector<std::byte>>& records,
                distrib::SparkRecordType record_type, distrib::SparkRules rules = distrib::SparkRules::checked) -> Fit {
  const auto name = known_name(column.name);
  if (!name) return {"a name that no test has: " + column.name, 0, 0};
  const auto as = [&]<class T>(const T&) {
    return column.nullable ? decode_all<std::optional<T>>(*name, records, record_type, rules)
                           : decode_all<T>(*name, records, record_type, rules);
  };
  const auto in_arrays = [&]<class T>(const T& value) {
    if (column.type.arrays == 0) return as(value);
    if (column.type.arrays == 1) return as(std::vector<T>{});
    return as(std::vector<std::vector<T>>{});
  };
  switch (column.type.kind) {
    case distrib::SparkType::Kind::long_: return in_arrays(std::int64_t{});
    case distrib::SparkType::Kind::float_: return in_arrays(float{});
    case distrib::SparkType::Kind::string: return in_arrays(std::string{});
    default: return {"a type that is not inferred: " + to_text(column.type), 0, 0};
  }
}

}  // namespace fitting
