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

/// The environment variables of this process, or a given set of variables. A value. Functions that depend on variables
/// take one, so that tests need not set variables of the process.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  /// Makes an environment without variables.
  Environment() : variables_{Variables{}} {}

  /// Makes an environment of exactly these variables: `{{"SLURM_PROCID", "0"}, ...}`.
  Environment(std::initializer_list<Variables::value_type> variables) : variables_{Variables{variables}} {}
  explicit Environment(Variables variables) : variables_{std::move(variables)} {}

  /// Returns the environment of this process. Nothing is copied: read it before any thread changes variables.
  [[nodiscard]] static auto of_process() -> Environment { return Environment{std::nullopt}; }

  /// Returns the value of a variable; empty optional if it is not set. Valid while this object exists and is not
  /// changed; a variable of the process: until that variable is changed.
  [[nodiscard]] DISTRIB_DECL auto find(const std::string& name) const -> std::optional<std::string_view>;

  /// Returns the value of the first of these variables that is set and not empty; "" if there is none.
  [[nodiscard]] auto first_of(std::initializer_list<const char*> names) const -> std::string_view {
    for (const char* const name : names)
      if (const auto value = find(name); value && !value->empty()) return *value;
    return {};
  }

  /// Returns the number in the first of these variables that is set and not empty; empty if there is none, or on
  /// failure.
  ///
  /// Errors: `scheduler_errc::bad_variable` if the value is not a whole number from 0 to 2^32 - 1. `error` is not
  /// changed on success.
  [[nodiscard]] DISTRIB_DECL auto number(std::initializer_list<const char*> names, Error& error) const
      -> std::optional<std::uint32_t>;

 private:
  explicit Environment(std::nullopt_t) noexcept {}

  std::optional<Variables> variables_;  // empty: the process's variables
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/environment.ipp>
#endif
