// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <cerrno>

namespace tools {

// Exit codes of this command; those from 64 on are from sysexits.h.
inline constexpr int exit_good = 0;
inline constexpr int exit_damage = 1;        ///< Something that was read is damaged.
/// EX_USAGE: wrong usage. Also for a limit that an option can raise, and for every failure that has no other code.
inline constexpr int exit_usage = 64;
inline constexpr int exit_no_input = 66;     ///< EX_NOINPUT: the input does not exist, or may not be read.
/// EX_UNAVAILABLE: no server answered, or a program that is needed is not installed.
inline constexpr int exit_unavailable = 69;
inline constexpr int exit_io = 74;  ///< EX_IOERR: reading or writing failed.

/// Returns the exit code for a failure.
[[nodiscard]] inline auto exit_status(const std::error_code& code) noexcept -> int {
  using distrib::failure;
  if (code == failure::not_found || code == std::errc::permission_denied || code == std::errc::is_a_directory)
    return exit_no_input;
  if (code == failure::corrupt) return exit_damage;
  if (code == failure::io) return exit_io;
  if (code == failure::unavailable || code == failure::timeout) return exit_unavailable;
  return exit_usage;
}

}  // namespace tools
