// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_type.hpp>

#include <distrib/core/error.hpp>
#include <distrib/spark/spark_error.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto parse_spark_type(std::string_view text, std::error_code& ec) noexcept -> SparkType {
  ec.clear();
  SparkType type;
  while (text.starts_with("Array<") && text.ends_with('>') && type.arrays < 2) {
    text = text.substr(6, text.size() - 7);
    ++type.arrays;
  }
  for (std::size_t kind = 1; kind < detail::spark_kinds.size(); ++kind)
    if (text == detail::spark_kinds[kind]) type.kind = static_cast<SparkType::Kind>(kind);
  if (type.kind != SparkType::Kind::unknown && (type.kind != SparkType::Kind::vector || type.arrays == 0)) return type;
  ec = spark_errc::unsupported_type;
  return {};
}

DISTRIB_DECL auto parse_spark_type(std::string_view text) -> SparkType {
  std::error_code ec;
  const SparkType type = parse_spark_type(text, ec);
  if (ec) throw_error(ec, '"' + std::string{text} + '"');
  return type;
}

DISTRIB_DECL auto parse_record_type(std::string_view text, std::error_code& ec) noexcept -> SparkRecordType {
  ec.clear();
  if (text == "SequenceExample") return SparkRecordType::sequence_example;
  if (text != "Example") ec = spark_errc::unknown_record_type;
  return SparkRecordType::example;
}

DISTRIB_DECL auto parse_record_type(std::string_view text) -> SparkRecordType {
  std::error_code ec;
  const SparkRecordType type = parse_record_type(text, ec);
  if (ec) throw_error(ec, "recordType \"" + std::string{text} + '"');
  return type;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
