// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// A report about a running job, beside the errors that its calls return: a damaged checkpoint was skipped, a task does
/// not answer.
struct Event {
  /// What happened.
  enum class Kind {
    restored,  ///< The job, or one of its shards, continues from a checkpoint or cut.
    /// A checkpoint or cut was not used because it is damaged, cannot be read or does not belong here; `text` says why.
    checkpoint_refused,
    /// A signal or a hook asked to stop; the work in progress is finished. Saved too, but not by a worker of a cluster.
    interrupted,
    waiting,  ///< `peer` does not answer and is tried again.
    connected,  ///< `peer` is connected, or connected again.
    lost,  ///< The connection to `peer` is lost; or a rank, permanently, and the job goes on without it.
    joined_twice,  ///< Two processes run as the same rank: harmless.
    not_repeatable,  ///< A contribution arrived twice with different bytes; the first one counts.
    no_room,  ///< The disk is full: a cut or summary was not written, another attempt follows. Training continues.
    ended,  ///< The task ends because of `peer`.
    /// Two workers of an asynchronous job compute with different libraries, versions or settings; `text` has both.
    unlike_arithmetic,
    /// A peer was refused because of its certificate or because it does not use TLS as this task does; or changed
    /// certificate files were not accepted, and the earlier ones stay in use; or a key file can be read by other users.
    tls_refused,
    /// A limit of the system is lower than the job needs, and could not be raised; `text` has both numbers.
    low_limit,
    /// A parameter server has more than twice as many bytes of variables as the mean, so all others wait for it; `text`
    /// names the variable.
    uneven_shards,
    /// A part or a position of an export log was not written; `text` says whether another attempt follows.
    export_failed,
    /// Other ranks were asked for, in a job whose ranks may change: `text` says who asked, for which ones, from which
    /// step, and whether a shard has taken them.
    ranks_asked_for,
    /// Keys of a table were to be erased, in a job that lets them: `text` says who asked, the table, the number of keys,
    /// and whether a shard has taken them. It has none of the keys.
    erase_asked_for,
  };
  Kind kind{};  ///< What happened.
  std::string task;  ///< The task that reports: "local", "/job:ps/task:0"; empty if the reporter does not know it.
  std::string peer;  ///< The task or file that the report is about; may be empty.
  std::error_code code;  ///< The reason; empty if there is none.
  /// For the user. In a training it is a whole line, in which the peer and the reason are, so print it alone:
  /// "lost /job:ps/task:0 at 127.0.0.1:2222: the connection was lost". `RpcClientPool` leaves the reason to `code`.
  std::string text;
};

/// Receives events. The component that has the observer says on which thread it is called. An exception that it throws
/// leaves the handler that called it, and so the `run()` of that thread's context.
using Observer = std::function<void(const Event&)>;

}  // namespace v0
}  // namespace distrib
