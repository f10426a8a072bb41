// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string>

namespace tools {

/// How a process ended: with a code of its own, or by a signal.
struct Ending {
  int code = 0;    ///< The code with which it ended; 0 if a signal ended it.
  int signal = 0;  ///< The signal that ended it; 0 if none.

  [[nodiscard]] auto operator==(const Ending&) const -> bool = default;
};

/// What the protocol says about the end of a task.
enum class Verdict {
  done,       ///< Code 0.
  retry,      ///< Code 1, a signal, or a shell's code for a signal (129 to 192): start the task again.
  permanent,  ///< 64 to 78, and every other code: another start is not known to help.
};

/// Returns the ending for a status of waitpid(2) of a process that has ended.
[[nodiscard]] inline auto ending_of(int wait_status) noexcept -> Ending {
  if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

[[nodiscard]] inline auto verdict_of(const Ending& ending) noexcept -> Verdict {
  if (ending.signal != 0 || ending.code == 1) return Verdict::retry;
  if (ending.code == 0) return Verdict::done;
  return ending.code > 128 && ending.code <= 128 + SIGRTMAX ? Verdict::retry : Verdict::permanent;
}

/// Returns one code for an ending; as in shells, 128 plus the number of a signal.
[[nodiscard]] inline auto exit_code(const Ending& ending) noexcept -> int {
  return ending.signal != 0 ? 128 + ending.signal : ending.code;
}

/// Returns an ending in words: "ended with code 70 (permanent)", "was ended by SIGKILL".
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
