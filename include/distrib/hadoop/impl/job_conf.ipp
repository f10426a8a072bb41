// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/job_conf.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/hadoop/error.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto JobConf::find(std::string_view name) const -> std::optional<std::string_view> {
  const auto found = settings_.find(name);
  if (found != settings_.end()) return found->second;
  if (!environment_) return std::nullopt;
  std::string variable{name};
  for (char& letter : variable)
    if (!is_word(letter)) letter = '_';
  return environment_->find(variable);
}

DISTRIB_DECL auto JobConf::number(std::string_view name, std::uint64_t otherwise, ErrorRef to, std::uint64_t most) const
    -> std::uint64_t {
  distrib::detail::ErrorOut error{to};
  const std::string_view value = trimmed(text(name));
  if (value.empty()) return otherwise;
  const auto number = distrib::detail::parse_whole<std::uint64_t>(value);
  if (number && *number <= most) return *number;
  error = {hadoop_errc::bad_setting, std::string{name} + "=" + std::string{value.substr(0, 80)}};
  return otherwise;
}

DISTRIB_DECL auto JobConf::trimmed(std::string_view text) noexcept -> std::string_view {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
