// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/erase_log_core.hpp>
#include <distrib/ps/server/detail/scale_calls.hpp>
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

/// Returns who asks for what, for a report. It has none of the keys.
template <class Connection>
[[nodiscard]] auto words_of_request(const Connection& connection, const EraseRequest& request) -> std::string {
  constexpr std::size_t most_bytes = 200;
  return words_of_asker(address_of_asker(connection), request.who) + " asks to erase " +
         std::to_string(request.keys.size()) + " keys of table " +
         printable(std::string_view{request.table}.substr(0, most_bytes));
}

/// The calls of `Erase` of one shard that wait until the file of the log is durable.
///
/// Threads: one at a time.
template <class Connection>
class EraseCalls {
 public:
  /// Keeps a call. Returns its number, for `EraseLogCore::ask`.
  auto add(const EraseRequest& request, Call<Erase, Connection> call) -> std::uint64_t {
    std::string asked = words_of_request(call.connection(), request);
    waiting_.insert({++newest_, Waiting{std::move(call), std::move(asked)}});
    return newest_;
  }

  /// Answers a call, if it still waits. Returns the sentence to report; empty: it does not wait. `place`: the shard;
  /// `step`: its newest step.
  auto answer(const EraseAnswer& answer, const std::string& place, Step step) -> std::string {
    const auto asked = waiting_.extract(answer.caller);
    if (asked.empty()) return {};
    const auto& [call, words] = asked.mapped();
    const std::string at = place + ", step " + std::to_string(step);
    if (answer.why) {
      call.fail(answer.why, at);
      return words + ": refused by " + at + ": " + answer.why.message();
    }
    call.reply({answer.keys, answer.after, step});
    if (answer.keys.empty()) return words + ": none is of " + place;
    return words + ": " + std::to_string(answer.keys.size()) + " go from " + place + " after step " +
           std::to_string(answer.after);
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
    Call<Erase, Connection> call;
    std::string words;
  };

  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t newest_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
