// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>
#include <distrib/ps/cut/cut_pieces.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Connect to the other replica. If that fails, try again until this instant, with pauses of at most `longest_pause`.
/// Then call `connected` or `not_connected`.
struct ConnectToSibling {
  Instant until;
  std::chrono::milliseconds longest_pause;
};
/// Send this request on the connection, as a `State` call with this deadline. Then call `answered` or `failed`.
struct AskSibling {
  StateRequest request;
  std::chrono::milliseconds within;
};
/// Call `woken` at this instant.
struct AskSiblingLater {
  Instant at;
};
/// The fetch is over: close the connection, and call `ShardFiles::state_came`.
struct StateFetched {
  /// Empty: the other replica has no newer state, cannot be reached, was lost, or sent something that is not a state of
  /// this shard or is larger than `most_bytes`.
  std::optional<Cut> cut;
};

/// Fetches the state of the other replica of a shard, piece by piece: decides how long to look for that replica, what
/// to ask for next, and when to give up.
///
/// Events in, actions out by calls of `out(action)`: `ConnectToSibling`, `AskSibling`, `AskSiblingLater`, and at the
/// end once `StateFetched`; no event may follow. No clock, no I/O, no thread. Memory: the cut that arrives, at most
/// `most_bytes`.
///
/// Threads: one at a time.
class StateFetchCore {
 public:
  /// Makes the fetch for `replica`, which has the state of step `have` of the job with this hash. `answer_within`: the
  /// deadline of each call; the other replica may have to make and write a cut first.
  StateFetchCore(const Job& job, std::uint32_t replica, const JobUpdaters& updaters, std::string job_hash, Step have,
                 std::uint64_t most_bytes, std::chrono::milliseconds answer_within)
      : request_{std::move(job_hash), have, 0},
        assembly_{ShardLayout{job, replica % job.shards()}, updaters, Lineage{}.continued(0, settings_hash(job)),
                  most_bytes},
        answer_within_{answer_within} {}

  /// Starts to look for the other replica. Looks for two seconds: the tasks of a job start together, so the other
  /// replica may not listen yet, or not know the job yet.
  void start(Instant now, auto& out) {
    found_until_ = now + std::chrono::seconds{2};
    out(ConnectToSibling{found_until_, pause});
  }

  /// The connection to the other replica is open.
  void connected(auto& out) { ask(out); }
  /// No connection could be opened in time: the fetch ends without a state.
  void not_connected(auto& out) { out(StateFetched{}); }

  /// The other replica has answered a call. Asks for the next piece, or ends the fetch: with the state if it is whole;
  /// without a state if the answer is not newer than `have`, or is not a piece of such a state.
  void answered(const StateReply& reply, auto& out) {
    const bool is_newer = reply.step > request_.have;
    if (!is_newer || !assembly_.take(reply)) return out(StateFetched{});
    if (!assembly_.whole()) {
      request_.at = assembly_.bytes();
      return ask(out);
    }
    out(StateFetched{std::move(assembly_).finish()});
  }

  /// The call failed, perhaps because the connection was lost. If the other replica does not know the job yet, asks it
  /// again after a pause, within the two seconds of `start`; otherwise the fetch ends without a state.
  void failed(const std::error_code& why, Instant now, auto& out) {
    if (why == ps_errc::not_joined && now < found_until_) return out(AskSiblingLater{now + pause});
    out(StateFetched{});
  }

  /// The instant of `AskSiblingLater` has come.
  void woken(auto& out) { ask(out); }

 private:
  void ask(auto& out) { out(AskSibling{request_, answer_within_}); }

  static constexpr std::chrono::milliseconds pause{50};

  StateRequest request_;
  CutAssembly assembly_;
  std::chrono::milliseconds answer_within_;
  Instant found_until_{};
};

}  // namespace v0
}  // namespace distrib
