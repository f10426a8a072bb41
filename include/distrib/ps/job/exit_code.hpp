// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exit codes of a clustered job's processes (protocol, "Loss, leaving, exit codes"; numbers of sysexits.h).
namespace distrib {
inline namespace v0 {
namespace exit_code {

inline constexpr int done = 0;             ///< The job is done.
inline constexpr int again = 1;            ///< Asked to stop, or nobody there: start it again.
inline constexpr int refused = 65;         ///< The job is refused: another start will not mend it.
inline constexpr int somebody_lost = 70;   ///< Somebody was lost for good.
inline constexpr int io_error = 74;        ///< A cut could not be written or read.

}  // namespace exit_code
}  // namespace v0
}  // namespace distrib
