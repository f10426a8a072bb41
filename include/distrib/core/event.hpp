// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Something worth telling that is no failure of the job: a damaged checkpoint was passed over, somebody is waited for.
struct Event {
  enum class Kind {
    restored,  ///< The job goes on from a checkpoint.
    checkpoint_refused,  ///< A checkpoint is damaged; the one before it is used.
    interrupted,  ///< A signal asked to stop; the work in flight is finished and saved.
    waiting,  ///< `peer` does not answer and is tried again.
    connected,  ///< `peer` is there, or is there again.
    lost,  ///< The connection to `peer` is lost.
    joined_twice,  ///< Two processes speak for one rank: no harm is done.
    not_repeatable,  ///< A contribution came twice with different bytes; the first one counts.
    no_room,  ///< The disk is full: a cut or summary is not written, another one is tried. Training goes on.
    ended,  ///< The task ends because of `peer`.
  };
  Kind kind{};
  std::string task;  ///< Which task speaks: "local", "/job:ps/task:0".
  std::string peer;  ///< Whom it is about: a task, a file; may be empty.
  std::error_code code;
  std::string text;  ///< One sentence for people.
};

/// Who is told. Called on a thread of the library; what it throws ends what told it.
using Observer = std::function<void(const Event&)>;

}  // namespace v0
}  // namespace distrib
