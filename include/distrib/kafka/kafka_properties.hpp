// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::kafka.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/kafka/error.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Properties of librdkafka by their names, such as "security.protocol" and "sasl.password". A value.
using KafkaProperties = std::map<std::string, std::string>;

/// Reads properties from a file with a line NAME=VALUE for each. Empty lines and lines that begin with # do not count;
/// spaces at both ends of a name or a value are left out. So secrets need not be in a program or in its arguments.
///
/// Errors: `kafka_errc::bad_properties_file` with the number of the line; that the file cannot be read. No message has
/// text of the file.
[[nodiscard]] inline auto read_kafka_properties(const std::string& path, ErrorRef to) -> KafkaProperties {
  constexpr std::size_t most_bytes = 1 << 20;
  detail::ErrorOut error{to};
  KafkaProperties properties;
  std::error_code ec;
  const std::string text = detail::read_up_to(path, most_bytes, ec);
  if (ec) {
    error = {ec, path};
    return properties;
  }
  const auto trimmed = [](std::string_view part) {
    const std::size_t begin = part.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return std::string_view{};
    return part.substr(begin, part.find_last_not_of(" \t\r") - begin + 1);
  };
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = trimmed(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(rest.find('\n') == std::string_view::npos ? rest.size() : rest.find('\n') + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || name.empty()) {
      error = {kafka_errc::bad_properties_file, path + ": line " + std::to_string(number)};
      return {};
    }
    properties.insert_or_assign(std::string{name}, std::string{trimmed(line.substr(equals + 1))});
  }
  return properties;
}

}  // namespace v0
}  // namespace distrib
