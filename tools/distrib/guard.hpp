// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tools {

/// Runs `work` in a child process, so that no process that `work` starts outlives it. The two processes watch each
/// other. If one of them dies, the other one ends every descendant, also descendants in other sessions. Only if both
/// are killed at the same time may something be left.
///
/// The parent receives the user's signals and passes them on: SIGINT, SIGTERM and SIGHUP (unless it is ignored) as
/// SIGTERM; a second SIGINT, and SIGQUIT, as SIGUSR1, which means "at once". The child gets SIGUSR1 also when the
/// parent has died. `work` runs with all these signals blocked, so it must read SIGTERM and SIGUSR1 with signalfd(2) or
/// sigwait(3).
///
/// Returns what `work` returned; 128 plus the signal if a signal ended the child; 70 if `work` threw an exception,
/// whose text is then on stderr. Throws `std::system_error` if the child process cannot be started. To be called before
/// the process has other threads.
[[nodiscard]] auto run_guarded(const std::function<int()>& work) -> int;

/// Kills the children of this process, including adopted ones, then their children, until there are none.
void end_children();

}  // namespace tools
