// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/crc32c.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/router.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// A connection for `Call` that records the answers. The test numbers the calls.
namespace fake {

/// Records texts such as "a7 pushed k=1 cuts=0": the answer to call 7 of connection a.
class Connection {
 public:
  Connection(std::string name, std::vector<std::string>& told) : name_{std::move(name)}, told_{told} {}

  /// Returns the event that begins a call of M; valid until the next `begin`.
  template <class M>
  auto begin(std::uint64_t call, const typename M::Request& request) -> distrib::ServerEvent {
    methods_[call] = M::id;
    head_.clear();
    distrib::ServerEvent event;
    event.body = distrib::RpcCodec<typename M::Request>::encode(request, head_).body;
    event.kind = distrib::ServerEvent::Kind::request;
    event.call = call;
    event.method = M::id;
    event.head = head_.view();
    if (!event.body.empty()) event.body_checksum = distrib::crc32c(event.body.bytes());
    return event;
  }
  /// Returns the event of a client that cancels a call.
  auto cancel(std::uint64_t call) -> distrib::ServerEvent {
    methods_.erase(call);
    distrib::ServerEvent event;
    event.kind = distrib::ServerEvent::Kind::cancelled;
    event.call = call;
    return event;
  }

  std::size_t credit = 1000;  ///< How many more items the client accepts.
  distrib::ShardStatus status;  ///< The last status that was sent.

  /// Returns the number of calls that have no answer yet.
  [[nodiscard]] auto open() const -> std::size_t { return methods_.size(); }

  auto writer() -> distrib::WireWriter& {
    answer_.clear();
    return answer_;
  }
  void reply(std::uint64_t call, distrib::ByteView head, const distrib::FrameBody& body,
             std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
    if (!methods_.contains(call)) return;  // the call is over, as in a real connection
    if (checksum) CHECK(*checksum == distrib::crc32c(body.bytes()));
    std::string text = " ok";
    if (methods_.at(call) == distrib::Pull::id || methods_.at(call) == distrib::Look::id) {
      distrib::PullReply reply;
      REQUIRE(decode(head, body, reply));
      text = reply.gone ? " gone" : " values counted=" + std::to_string(reply.counted) + story::text(reply.body);
      text += story::text(reply.progress);
    } else if (methods_.at(call) == distrib::Push::id || methods_.at(call) == distrib::PushSum::id) {
      distrib::PushReply reply;
      REQUIRE(decode(head, body, reply));
      text = " pushed" + story::text(reply.progress) + (reply.not_repeatable ? " not repeatable" : "");
    } else if (methods_.at(call) == distrib::State::id) {
      distrib::StateReply reply;
      REQUIRE(decode(head, body, reply));
      text = reply.step == 0 ? " no state" : " state " + std::to_string(reply.step);
      std::uint64_t size = 0;
      for (const std::uint64_t of : reply.sizes) size += of;
      if (size != 0) text += " of " + std::to_string(size) + " bytes" + story::text(reply.body);
      else if (reply.body != nullptr) text += " more";
    } else if (methods_.at(call) == distrib::AskRanks::id) {
      distrib::AskRanksReply reply;
      REQUIRE(decode(head, body, reply));
      text = reply.over ? " over" : " ranks";
      for (const distrib::Rank rank : reply.serve) text += " " + std::to_string(rank);
    } else if (methods_.at(call) == distrib::Scale::id) {
      distrib::ScaleReply reply;
      REQUIRE(decode(head, body, reply));
      text = (reply.taken ? " taken, horizon " : " horizon ") + std::to_string(reply.horizon) + " step " +
             std::to_string(reply.step);
    } else if (methods_.at(call) == distrib::Erase::id) {
      distrib::EraseReply reply;
      REQUIRE(decode(head, body, reply));
      text = ' ' + std::to_string(reply.keys.size()) + " keys after " + std::to_string(reply.after) + " step " +
             std::to_string(reply.step);
    } else if (methods_.at(call) == distrib::Status::id) {
      REQUIRE(decode(head, body, status = {}));
      text = " status";
    }
    over(call, text + (with_next ? " with the next" : ""));
  }
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    over(call, " failed: " + code.message() + (where.empty() ? "" : " (" + std::string{where} + ")"));
  }
  auto item(std::uint64_t call, distrib::ByteView head, const distrib::FrameBody& body) -> bool {
    if (credit == 0 || !methods_.contains(call)) return false;
    --credit;
    distrib::JoinItem item;
    REQUIRE(decode(head, body, item));
    const char* kinds[] = {"", " joined", " notice", " text wanted", " lost"};
    std::string text = kinds[static_cast<int>(item.kind)];
    if (item.kind == distrib::JoinItem::Kind::rank_lost) text += " rank " + std::to_string(item.rank);
    if (item.kind <= distrib::JoinItem::Kind::notice) text += story::text(item.progress);
    told_.push_back(name_ + std::to_string(call) + text);
    return true;
  }
  void end_stream(std::uint64_t call) { over(call, " end"); }

 private:
  template <class T>
  static auto decode(distrib::ByteView head, const distrib::FrameBody& body, T& message) -> bool {
    return distrib::RpcCodec<T>::decode({head, body}, message);
  }

  // Answers to calls that are over are ignored, as in a real connection.
  void over(std::uint64_t call, const std::string& text) {
    if (methods_.erase(call) == 1) told_.push_back(name_ + std::to_string(call) + text);
  }

  std::string name_;
  std::vector<std::string>& told_;
  std::map<std::uint64_t, std::uint32_t> methods_;
  distrib::WireWriter head_;
  distrib::WireWriter answer_;
};

}  // namespace fake
