// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/sim/wire.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// The server's side of a simulated connection, as a Call sees it: its ServerCore, and a function that makes the wire
/// carry what was answered.
struct Session {
  ServerCore core;
  std::function<void()> flush;
  bool active = false;
  void answered() {
    if (!active && flush) flush();
  }
  auto writer() -> WireWriter& { return core.writer(); }
  void reply(std::uint64_t call, ByteView head, const FrameBody& body,
             std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
    core.reply(call, head, body, checksum, with_next);
    answered();
  }
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    core.fail(call, code, where);
    answered();
  }
  auto item(std::uint64_t call, ByteView head, const FrameBody& body) -> bool {
    const bool taken = core.item(call, head, body);
    answered();
    return taken;
  }
  void end_stream(std::uint64_t call) {
    core.end_stream(call);
    answered();
  }
};
using SessionPointer = std::shared_ptr<Session>;

/// One connection with both ends. Both processes hold it until it is over for them.
struct Link : std::enable_shared_from_this<Link> {
  Link(const RpcClientOptions& client_options, const RpcServerOptions& server_options, Instant now)
      : client{client_options, now},
        session{std::make_shared<Session>(ServerCore{server_options, now}, nullptr, false)} {}
  ClientCore client;
  SessionPointer session;
  std::shared_ptr<Wire<ClientCore, ServerCore>> wire;
  std::string from;        ///< Name of the process that has connected, "rank 1".
  Rank rank = 0;           ///< Rank of that process; if it is another replica, a rank that the job does not have.
  std::uint32_t task = 0;  ///< The ps task to which it has connected.
  bool client_open = true;
  bool server_open = true;
};
using LinkPointer = std::shared_ptr<Link>;

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
