// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// The settings of a job, by name: about 1600 of Hadoop itself, and those given with `-D name=value`. A value.
class JobConf {
 public:
  using Settings = std::map<std::string, std::string, std::less<>>;
  static constexpr std::uint64_t largest_number = std::numeric_limits<std::uint64_t>::max();  ///< 2^64 - 1.

  /// Has no settings.
  JobConf() = default;

  /// Has these settings and no others, not even defaults of Hadoop; for tests. A task gets the settings of its job from
  /// `TaskContext::conf`.
  explicit JobConf(Settings settings) : settings_{std::move(settings)} {}

  /// Returns the settings that Streaming passes as environment variables. In their names Hadoop has replaced each
  /// character that is not a letter or digit by an underscore: `mapreduce_task_partition`. Look them up by their
  /// original names. They do not count in `size()`, and begin() does not visit them.
  [[nodiscard]] static auto of(Environment environment) -> JobConf {
    JobConf conf;
    conf.environment_ = std::move(environment);
    return conf;
  }

  /// Sets one setting; replaces its old value.
  void set(std::string name, std::string value) { settings_.insert_or_assign(std::move(name), std::move(value)); }

  /// Returns the value of a setting, or nothing if it is not set. Valid until it is set again.
  [[nodiscard]] DISTRIB_DECL auto find(std::string_view name) const -> std::optional<std::string_view>;

  /// Returns the value of a setting, or `otherwise` if it is not set. Valid as in `find`.
  [[nodiscard]] auto text(std::string_view name, std::string_view otherwise = {}) const -> std::string_view {
    return find(name).value_or(otherwise);
  }

  /// Returns true for the value "true" and false for "false", in upper or lower case, with or without blanks around it;
  /// for every other value, and if it is not set, `otherwise`, as Hadoop does.
  [[nodiscard]] auto flag(std::string_view name, bool otherwise) const -> bool {
    std::string value{trimmed(text(name))};
    for (char& letter : value)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return value == "true" || (value != "false" && otherwise);
  }

  /// Returns the value of a setting as a whole number, or `otherwise` if it is not set or blank.
  ///
  /// Errors: `hadoop_errc::bad_setting`, with name and value as its place, if the value is not 0 .. `most`; the result
  /// is then `otherwise`.
  [[nodiscard]] DISTRIB_DECL auto number(std::string_view name, std::uint64_t otherwise, ErrorRef to,
                                         std::uint64_t most = largest_number) const -> std::uint64_t;

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto number(std::string_view name, std::uint64_t otherwise, std::uint64_t most = largest_number) const
      -> std::uint64_t {
    Error error;
    return distrib::detail::or_throw(number(name, otherwise, error, most), error);
  }

  /// Returns the number of settings.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return settings_.size(); }

  /// Iterates over all settings in the order of their names, as pairs of name and value.
  [[nodiscard]] auto begin() const noexcept { return settings_.begin(); }
  /// Returns the end of the settings.
  [[nodiscard]] auto end() const noexcept { return settings_.end(); }

 private:
  static auto is_word(char letter) noexcept -> bool {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
  }
  DISTRIB_DECL static auto trimmed(std::string_view text) noexcept -> std::string_view;

  Settings settings_;
  std::optional<Environment> environment_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/job_conf.ipp>
#endif
