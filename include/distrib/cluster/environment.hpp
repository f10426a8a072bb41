// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Environment variables: those of this process, or some that were written down. A value; what decides by variables
/// takes one, so that tests set none.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  /// Without variables.
  Environment() : variables_{Variables{}} {}

  /// These and no others: `{{"SLURM_PROCID", "0"}, ...}`.
  Environment(std::initializer_list<Variables::value_type> variables) : variables_{Variables{variables}} {}
  explicit Environment(Variables variables) : variables_{std::move(variables)} {}

  /// Those of this process. Nothing is copied: ask before there are threads that set some.
  [[nodiscard]] static auto of_process() -> Environment { return Environment{std::nullopt}; }

  /// The value of a variable; empty optional when it is not set. Valid until it is set anew.
  [[nodiscard]] DISTRIB_DECL auto find(const std::string& name) const -> std::optional<std::string_view>;

  /// The value of the first of these variables that is set and not empty; "" when none is.
  [[nodiscard]] auto first_of(std::initializer_list<const char*> names) const -> std::string_view {
    for (const char* const name : names)
      if (const auto value = find(name); value && !value->empty()) return *value;
    return {};
  }

  /// The whole number that the first of these variables has which is set and not empty. Fails with
  /// `scheduler_errc::bad_variable` when that is none of 0 .. 2^32 - 1.
  [[nodiscard]] DISTRIB_DECL auto number(std::initializer_list<const char*> names, Error& error) const
      -> std::optional<std::uint32_t>;

 private:
  explicit Environment(std::nullopt_t) noexcept {}

  std::optional<Variables> variables_;  // none: the process's
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/environment.ipp>
#endif
