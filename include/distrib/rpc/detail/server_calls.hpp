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

/// What a server knows of a call, and whom the owner of its core tells what happens to it.
struct ServerCall {
  /// Member by member: put together elsewhere first, they would be read back before they are written.
  DISTRIB_DECL void begin(std::uint64_t id, std::size_t bytes) noexcept;

  std::uint32_t generation = 0;
  bool open = false;
  bool ended = false;  // no more items come
  StreamCredit credit;
  std::size_t held = 0;  // bytes of the request, and of items that were not taken
  std::shared_ptr<ServerCallSink> sink;
};

/// The calls of one client, by the slots in the lower halves of their ids, which the client chooses. Memory: 48 bytes
/// for each slot up to the last one that was ever in use.
class ServerCalls {
 public:
  /// An open call, until another begins; null: it is over, or never began.
  [[nodiscard]] auto open(std::uint64_t id) noexcept -> ServerCall* {
    ServerCall* const call = find(id);
    return call != nullptr && call->open ? call : nullptr;
  }
  [[nodiscard]] auto is_open(std::uint64_t id) const noexcept -> bool {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < calls_.size() && calls_[slot].open && calls_[slot].generation == id >> 32;
  }

  /// Where a new call begins; null: one is open there, or `id` is of none.
  [[nodiscard]] auto slot_for(std::uint64_t id) -> ServerCall* {
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= calls_.size()) calls_.resize(slot + std::size_t{1});
    return calls_[slot].open || id >> 32 == 0 ? nullptr : &calls_[slot];
  }

  /// To an open call; else `sink` is dropped.
  void attach(std::uint64_t id, std::shared_ptr<ServerCallSink> sink) noexcept {
    if (ServerCall* const call = open(id)) call->sink = std::move(sink);
  }
  /// Of a call that is open, or was the last one in its slot; null: it has none.
  [[nodiscard]] auto sink(std::uint64_t id) noexcept -> std::shared_ptr<ServerCallSink> {
    ServerCall* const call = find(id);
    return call == nullptr ? nullptr : call->sink;
  }
  auto take_sink(std::uint64_t id) noexcept -> std::shared_ptr<ServerCallSink> {
    ServerCall* const call = find(id);
    return call == nullptr ? nullptr : std::move(call->sink);
  }
  /// Takes all of them, and tells each.
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
