// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string>

namespace tools {

/// How a process ended: by itself with a code, or by a signal.
struct Ending {
  int code = 0;    ///< What it returned; 0 when a signal ended it.
  int signal = 0;  ///< The signal that ended it, else 0.

  [[nodiscard]] auto operator==(const Ending&) const -> bool = default;
};

/// What the protocol says about an ending.
enum class Verdict {
  done,       ///< Code 0.
  retry,      ///< Code 1, a signal, or the code that shells make of one (129 and up): worth another start.
  permanent,  ///< 64 to 78, and every other code, of which nobody promised that another start helps.
};

/// Of a status as waitpid(2) gives it.
[[nodiscard]] inline auto ending_of(int wait_status) noexcept -> Ending {
  if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

[[nodiscard]] inline auto verdict_of(const Ending& ending) noexcept -> Verdict {
  if (ending.signal != 0 || ending.code == 1) return Verdict::retry;
  if (ending.code == 0) return Verdict::done;
  return ending.code > 128 && ending.code <= 128 + SIGRTMAX ? Verdict::retry : Verdict::permanent;
}

/// The one code that stands for it: as shells do, 128 and the number of a signal.
[[nodiscard]] inline auto exit_code(const Ending& ending) noexcept -> int {
  return ending.signal != 0 ? 128 + ending.signal : ending.code;
}

/// "ended with code 70 (permanent)", "was ended by SIGKILL".
[[nodiscard]] inline auto to_string(const Ending& ending) -> std::string {
  if (ending.signal != 0) {
    const char* name = ::sigabbrev_np(ending.signal);
    return "was ended by " + (name != nullptr ? "SIG" + std::string{name} : "signal " + std::to_string(ending.signal));
  }
  const Verdict verdict = verdict_of(ending);
  return "ended with code " + std::to_string(ending.code) +
         (verdict == Verdict::retry       ? " (retry)"
          : verdict == Verdict::permanent ? " (permanent)"
                                          : "");
}

}  // namespace tools
