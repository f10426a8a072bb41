// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace tools {

/// Runs `work` in a child process so that nothing which that starts outlives it: two processes watch each other, and
/// whichever is left ends every descendant, those in sessions of their own included. Only killing both at the same time
/// can leave something behind.
///
/// The parent takes the user's signals and passes them on: SIGINT, SIGTERM and SIGHUP (unless ignored) as SIGTERM; a
/// second SIGINT, and SIGQUIT, as SIGUSR1, which means at once; it also comes when the parent has died. `work` runs
/// with all of these blocked, so it reads those two by signalfd(2) or sigwait(3).
///
/// Returns what `work` returned, or 128 and the signal that ended it. To be called before there are threads.
[[nodiscard]] auto run_guarded(const std::function<int()>& work) -> int;

/// Kills the children of this process, adopted ones too, then theirs, until there are none.
void end_children();

}  // namespace tools
