// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the arguments as `main` gets them in `argv`. Valid while `arguments` exists and is not changed.
[[nodiscard]] inline auto pointers_to(const std::vector<std::string>& arguments) -> std::vector<const char*> {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return pointers;
}

}  // namespace detail

/// Returns the arguments, with each `--flagfile=PATH` (also with one dash, or with PATH as the next argument) replaced
/// by the flags in that file. The file has one flag per line; white space around a flag is removed. Empty lines and
/// lines that begin with # or // are skipped. A line `--flagfile=PATH` names another file; its flags replace the line.
/// Arguments after `--` are not changed. Abseil's Python flags do the same, but only warn about a file that includes
/// itself. A shell's `<(...)` is read as a file. "~/" at the beginning of a path is the home directory.
///
/// Errors: the system's code if a file cannot be read; `cluster_errc::missing_value`; `cluster_errc::bad_flag_file` if
/// a file includes itself, is not text, or is the 17th of a chain, or if the files have more than 1 MiB together. The
/// result is empty then.
[[nodiscard]] DISTRIB_DECL auto read_flag_files(std::span<const char* const> arguments, Error& error)
    -> std::vector<std::string>;

namespace detail {

/// Returns the arguments of a program without its name, with the flags of flag files inserted.
[[nodiscard]] inline auto arguments_of(int argc, const char* const* argv, Error& error) -> std::vector<std::string> {
  const auto count = static_cast<std::size_t>(argc > 0 ? argc - 1 : 0);
  return read_flag_files({argv + (argc > 0 ? 1 : 0), count}, error);
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/flag_file.ipp>
#endif
