// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns what an operator asks for, in words: "ranks 0-3, 7 (5) from step 40", and the rate if it changes.
[[nodiscard]] DISTRIB_DECL auto words_of(const RankEntry& entry) -> std::string;

/// Returns who asks, for a report: the address of the connection and, in parentheses, what the client says of itself.
/// Characters that are not printable ASCII are replaced.
[[nodiscard]] DISTRIB_DECL auto words_of_asker(const std::string& address, std::string_view says) -> std::string;

/// Returns a text of a client for a report: characters that are not printable ASCII are replaced.
[[nodiscard]] DISTRIB_DECL auto printable(std::string_view text) -> std::string;

/// Returns the address at the other end of a connection; "a client" if it has none.
template <class Connection>
[[nodiscard]] auto address_of_asker(const Connection& connection) -> std::string {
  if constexpr (requires { connection->lowest_layer(); }) {
    std::error_code unknown;
    const auto peer = connection->lowest_layer().remote_endpoint(unknown);
    if (!unknown) return Address{peer.address().to_string(), peer.port()}.to_string();
  }
  return "a client";
}

/// Returns who asks for what, for a report. `request` has an entry.
template <class Connection>
[[nodiscard]] auto words_of_request(const Connection& connection, const ScaleRequest& request) -> std::string {
  return words_of_asker(address_of_asker(connection), request.who) + " asks for " + words_of(*request.entry);
}

/// The calls of `Scale` of one shard that wait until the file of the log of the ranks is durable.
///
/// Threads: one at a time.
template <class Connection>
class ScaleCalls {
 public:
  /// Keeps a call whose request has an entry. Returns its number, for `RankLogCore::propose`.
  auto add(const ScaleRequest& request, Call<Scale, Connection> call) -> std::uint64_t {
    std::string asked = words_of_request(call.connection(), request);
    waiting_.insert({++newest_, Waiting{std::move(call), std::move(asked)}});
    return newest_;
  }

  /// Answers a call, if it still waits. Returns the sentence to report; empty: it does not wait. `place`: the shard;
  /// `step`: its newest step.
  auto answer(const RankAnswer& answer, const std::string& place, Step step) -> std::string {
    const auto asked = waiting_.extract(answer.caller);
    if (asked.empty()) return {};
    const auto& [call, words] = asked.mapped();
    if (answer.taken) {
      call.reply({true, answer.horizon, step});
      return words + ": taken by " + place + ", which is at step " + std::to_string(step);
    }
    const std::string at = place + ", horizon " + std::to_string(answer.horizon) + ", step " + std::to_string(step);
    call.fail(answer.why, at);
    return words + ": refused by " + at + ": " + answer.why.message();
  }

  /// The connection is lost.
  void drop(const Connection& connection) {
    std::erase_if(waiting_, [&](const auto& one) { return one.second.call.connection() == connection; });
  }
  /// Fails all calls.
  void fail_all(const std::error_code& code, std::string_view where) {
    for (const auto& [number, one] : std::exchange(waiting_, {})) one.call.fail(code, where);
  }

 private:
  struct Waiting {
    Call<Scale, Connection> call;
    std::string words;
  };

  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t newest_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/scale_calls.ipp>
#endif
