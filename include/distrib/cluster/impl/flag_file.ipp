// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/flag_file.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Collects arguments, with the flags of each flag file in place of the argument that names it.
class FlagFileReader {
 public:
  static constexpr std::size_t max_bytes = std::size_t{1} << 20;
  static constexpr std::size_t max_depth = 16;

  void add(std::span<const char* const> arguments, Error& error) {
    for (std::size_t at = 0; at < arguments.size() && !error; ++at) {
      const std::string_view argument = arguments[at];
      if (argument == "--") {
        arguments_.insert(arguments_.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
        return;
      }
      if (argument != "--flagfile" && argument != "-flagfile") {
        add(argument, error);
      } else if (at + 1 < arguments.size()) {
        add_file(arguments[++at], error);
      } else {
        error = {cluster_errc::missing_value, std::string{argument}};
      }
    }
  }

  [[nodiscard]] auto arguments() && -> std::vector<std::string> { return std::move(arguments_); }

 private:
  // Adds one argument, or one line of a file.
  void add(std::string_view argument, Error& error) {
    for (const std::string_view flag : {"--flagfile=", "-flagfile="})
      if (argument.starts_with(flag)) return add_file(argument.substr(flag.size()), error);
    arguments_.emplace_back(argument);
  }

  void add_file(std::string_view name, Error& error) {
    std::string path{name};
    if (const char* home = std::getenv("HOME"); home != nullptr && path.starts_with("~/"))  // NOLINT: before threads
      path.replace(0, 1, home);
    const auto refuse = [&](const char* why) {
      error = {cluster_errc::bad_flag_file, "--flagfile=" + path + ": " + why};
    };
    if (std::find(open_.begin(), open_.end(), path) != open_.end()) return refuse("includes itself");
    if (open_.size() == max_depth) return refuse("the 17th file of a chain in which each file includes the next one");
    const std::string text = read_up_to(path, max_bytes + 1 - bytes_, error.code);
    if (error) {
      error.where = "--flagfile=" + path;
      return;
    }
    bytes_ += text.size();
    if (bytes_ > max_bytes) return refuse("more than 1 MiB together with the files before");
    if (text.find('\0') != std::string::npos) return refuse("not text");

    open_.push_back(path);
    for (std::string_view rest = text; !rest.empty() && !error;) {
      const std::string_view line = stripped(cut_before(rest, '\n'));
      if (line.empty() || line.starts_with('#') || line.starts_with("//")) continue;
      add(line, error);
    }
    open_.pop_back();
  }

  static auto stripped(std::string_view line) -> std::string_view {
    constexpr std::string_view blanks = " \t\r\v\f";
    const std::size_t begin = line.find_first_not_of(blanks);
    return begin == std::string_view::npos ? "" : line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
  }

  std::vector<std::string> arguments_;
  std::vector<std::string> open_;  // the files that are being read: each includes the next one
  std::size_t bytes_ = 0;  // bytes read from all files
};

}  // namespace detail

DISTRIB_DECL auto read_flag_files(std::span<const char* const> arguments, Error& error) -> std::vector<std::string> {
  error = {};
  detail::FlagFileReader reader;
  reader.add(arguments, error);
  return error ? std::vector<std::string>{} : std::move(reader).arguments();
}

}  // namespace v0
}  // namespace distrib
