// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>

#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstdlib>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Environment::find(const std::string& name) const -> std::optional<std::string_view> {
  if (variables_) {
    const auto found = variables_->find(name);
    return found == variables_->end() ? std::nullopt : std::optional<std::string_view>{found->second};
  }
  const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): before threads, in main
  return value == nullptr ? std::nullopt : std::optional<std::string_view>{value};
}

DISTRIB_DECL auto Environment::number(std::initializer_list<const char*> names, Error& error) const
    -> std::optional<std::uint32_t> {
  for (const char* const name : names) {
    const std::string_view text = first_of({name});
    if (text.empty()) continue;
    const auto value = detail::parse_whole<std::uint32_t>(text);
    if (!value) error = {scheduler_errc::bad_variable, name + ("=" + std::string{text.substr(0, 80)})};
    return value;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace distrib
