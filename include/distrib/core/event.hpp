// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// A report about the job that is not its failure: a damaged checkpoint was skipped, a task does not answer.
struct Event {
  enum class Kind {
    restored,  ///< The job continues from a checkpoint.
    /// A checkpoint or cut was not used because it is damaged, cannot be read or does not belong here; `text` says why.
    checkpoint_refused,
    interrupted,  ///< A signal asked to stop; the work in progress is finished and saved.
    waiting,  ///< `peer` does not answer and is tried again.
    connected,  ///< `peer` is connected, or connected again.
    lost,  ///< The connection to `peer` is lost.
    joined_twice,  ///< Two processes run as the same rank: harmless.
    not_repeatable,  ///< A contribution arrived twice with different bytes; the first one counts.
    no_room,  ///< The disk is full: a cut or summary was not written, another attempt follows. Training continues.
    ended,  ///< The task ends because of `peer`.
  };
  Kind kind{};
  std::string task;  ///< The task that reports: "local", "/job:ps/task:0".
  std::string peer;  ///< The task or file that the report is about; may be empty.
  std::error_code code;
  std::string text;  ///< One sentence for the user.
};

/// Receives events. Called on a thread of the library. An exception that it throws ends the component that called it.
using Observer = std::function<void(const Event&)>;

}  // namespace v0
}  // namespace distrib
