// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// The settings of a job, by name: some 1600 of Hadoop's own, and those that were given with `-D name=value`. A value.
class JobConf {
 public:
  using Settings = std::map<std::string, std::string, std::less<>>;

  JobConf() = default;

  /// These and no others; for tests.
  explicit JobConf(Settings settings) : settings_{std::move(settings)} {}

  /// Those that Streaming hands down as environment variables, with an underscore for each character of their name that
  /// is no letter and no digit: `mapreduce_task_partition`. They are asked for by their own names, and not counted.
  [[nodiscard]] static auto of(Environment environment) -> JobConf {
    JobConf conf;
    conf.environment_ = std::move(environment);
    return conf;
  }

  /// Sets one, in place of what it was.
  void set(std::string name, std::string value) { settings_.insert_or_assign(std::move(name), std::move(value)); }

  /// What is set; empty optional when it is not. Valid until it is set anew.
  [[nodiscard]] DISTRIB_DECL auto find(std::string_view name) const -> std::optional<std::string_view>;

  /// What is set, or `otherwise`.
  [[nodiscard]] auto text(std::string_view name, std::string_view otherwise = {}) const -> std::string_view {
    return find(name).value_or(otherwise);
  }

  /// Whether it is set to "true", in any case; `otherwise` when it is neither that nor "false", as Hadoop takes it.
  [[nodiscard]] auto flag(std::string_view name, bool otherwise) const -> bool {
    std::string value{trimmed(text(name))};
    for (char& letter : value)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return value == "true" || (value != "false" && otherwise);
  }

  /// The whole number that is set, or `otherwise` when nothing is. Fails with `hadoop_errc::bad_setting`, and its name
  /// and value as the place, for what is none of 0 .. 2^64 - 1.
  [[nodiscard]] DISTRIB_DECL auto number(std::string_view name, std::uint64_t otherwise, ErrorRef to) const
      -> std::uint64_t;

  /// The same; throws `std::system_error`.
  [[nodiscard]] auto number(std::string_view name, std::uint64_t otherwise) const -> std::uint64_t {
    Error error;
    return distrib::detail::or_throw(number(name, otherwise, error), error);
  }

  /// How many are set.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return settings_.size(); }

  /// All of them in the order of their names: pairs of name and value.
  [[nodiscard]] auto begin() const noexcept { return settings_.begin(); }
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
