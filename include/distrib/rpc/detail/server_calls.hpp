// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/rpc/detail/server_call_sink.hpp>
#include <distrib/rpc/detail/stream_credit.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The state of one call at the server, and the sink that receives its events.
struct ServerCall {
  /// Starts a call in this slot, with the bytes of its request. Sets each member separately: if a whole object were
  /// assigned, it would be read back while its stores are still under way.
  DISTRIB_DECL void begin(std::uint64_t id, std::size_t bytes) noexcept;

  std::uint32_t generation = 0;
  bool open = false;
  bool ended = false;  // the client sends no more items
  StreamCredit credit;
  std::size_t held = 0;  // bytes of the request, and of items that have not been used
  std::shared_ptr<ServerCallSink> sink;
};

/// The calls of one client, by slot. The slot is the low half of a call's id and is chosen by the client.
///
/// Memory: a `ServerCall` for each slot up to the highest slot that was ever used.
class ServerCalls {
 public:
  /// Returns an open call; null if it is over or never began. The pointer is valid until another call begins.
  [[nodiscard]] auto open(std::uint64_t id) noexcept -> ServerCall* {
    ServerCall* const call = find(id);
    return call != nullptr && call->open ? call : nullptr;
  }
  [[nodiscard]] auto is_open(std::uint64_t id) const noexcept -> bool {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < calls_.size() && calls_[slot].open && calls_[slot].generation == id >> 32;
  }

  /// Returns the slot for a new call; null if a call is open in this slot, or if `id` is not valid (its generation is
  /// 0).
  [[nodiscard]] auto slot_for(std::uint64_t id) -> ServerCall* {
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= calls_.size()) calls_.resize(slot + std::size_t{1});
    return calls_[slot].open || id >> 32 == 0 ? nullptr : &calls_[slot];
  }

  /// Attaches a sink to an open call. If the call is not open, `sink` is dropped.
  void attach(std::uint64_t id, std::shared_ptr<ServerCallSink> sink) noexcept {
    if (ServerCall* const call = open(id)) call->sink = std::move(sink);
  }
  /// Returns the sink of a call that is open or was the last call in its slot; null if it has no sink, and for any
  /// other id.
  [[nodiscard]] auto sink(std::uint64_t id) noexcept -> std::shared_ptr<ServerCallSink> {
    ServerCall* const call = find(id);
    return call == nullptr ? nullptr : call->sink;
  }
  /// Returns the sink that `sink(id)` returns, and removes it from the call.
  auto take_sink(std::uint64_t id) noexcept -> std::shared_ptr<ServerCallSink> {
    ServerCall* const call = find(id);
    return call == nullptr ? nullptr : std::move(call->sink);
  }
  /// Removes all sinks, and calls `ended(why)` of each.
  void end_sinks(const std::error_code& why) {
    for (std::size_t slot = 0; slot < calls_.size(); ++slot)
      if (const auto sink = std::move(calls_[slot].sink)) sink->ended(why);
  }

 private:
  auto find(std::uint64_t id) noexcept -> ServerCall* {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < calls_.size() && calls_[slot].generation == id >> 32 ? &calls_[slot] : nullptr;
  }

  std::vector<ServerCall> calls_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/server_calls.ipp>
#endif
