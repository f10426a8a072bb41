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

/// What `main` would get as `argv`. Valid as long as `arguments`, which keep their place.
[[nodiscard]] inline auto pointers_to(const std::vector<std::string>& arguments) -> std::vector<const char*> {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return pointers;
}

}  // namespace detail

/// The arguments with, in the place of each `--flagfile=PATH` (also with one dash, or PATH as the next argument), the
/// flags that stand in the file: one a line, without the blanks around it; empty lines and those that begin with # or
/// // are left out, and a line may name another file. What follows `--` is left as it is. As abseil's Python flags do
/// it, which only warn of a file that includes itself.
///
/// Fails with the system's reason, `cluster_errc::missing_value`, or `bad_flag_file`: a file that includes itself, is no
/// text or the 17th of a chain, or more than 1 MiB in all. A shell's `<(...)` is read as a file.
[[nodiscard]] DISTRIB_DECL auto read_flag_files(std::span<const char* const> arguments, Error& error)
    -> std::vector<std::string>;

namespace detail {

/// Those of a program, with the flags of files, without the program's name.
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
