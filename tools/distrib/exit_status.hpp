// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <cerrno>

namespace tools {

// Exit codes of this command; those from 64 on are from sysexits.h.
inline constexpr int exit_good = 0;
inline constexpr int exit_damage = 1;        ///< Something that was read is damaged.
inline constexpr int exit_usage = 64;        ///< EX_USAGE; also for a limit that an option can raise.
inline constexpr int exit_no_input = 66;     ///< EX_NOINPUT: the input does not exist, or may not be read.
inline constexpr int exit_unavailable = 69;  ///< EX_UNAVAILABLE: no server answered.
inline constexpr int exit_io = 74;           ///< EX_IOERR

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
