// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exit codes of the processes of a clustered job, with the numbers of sysexits.h; see docs/guide/errors.md, "Exit
/// codes".
namespace distrib {
inline namespace v0 {
namespace exit_code {

inline constexpr int done = 0;  ///< The job is done.
inline constexpr int again = 1;  ///< The task was asked to stop, or no other task could be reached: start it again.
inline constexpr int refused = 65;  ///< The job is refused: starting it again will not help.
inline constexpr int somebody_lost = 70;  ///< A task of the job was lost permanently.
/// A cut could not be written or read, or a loaded state needs more memory than there is.
inline constexpr int io_error = 74;

}  // namespace exit_code
}  // namespace v0
}  // namespace distrib
