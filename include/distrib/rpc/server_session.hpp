// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/server_core.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib::inline v0 {

/// One connection of an `RpcServer`: what a `Call` there speaks to. It behaves like its `ServerCore` and has every
/// answer written. Answers to a connection that is gone are passed over in silence.
///
/// Threads: one at a time, which is the executor's. Handlers hold it by `ServerConnection` for as long as they like.
template <class Stream>
class BasicServerSession : public std::enable_shared_from_this<BasicServerSession<Stream>> {
 public:
  /// Who takes what comes in.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void happened(const std::shared_ptr<BasicServerSession>& session, const ServerEvent& event) = 0;
    virtual void closed(const std::shared_ptr<BasicServerSession>& session) = 0;  ///< The last that is heard of it.
  };

  BasicServerSession(Owner& owner, Stream stream, const RpcServerOptions& options)
      : owner_{&owner},
        connection_{std::make_shared<ConnectionType>(std::move(stream), *this, options,
                                                     std::chrono::steady_clock::now())} {}

  [[nodiscard]] auto get_executor() const noexcept -> typename Stream::executor_type {
    return connection_->get_executor();
  }

  /// Begins to read; once.
  void start() { connection_->settle(); }

  /// Takes no more calls; ends when those in flight are answered.
  void drain() {
    connection_->core().drain();
    answered();
  }

  /// Ends it at once; the owner hears nothing any more.
  void close() {
    owner_ = nullptr;
    connection_->close();
  }

  /// See `ServerCore::writer`.
  [[nodiscard]] auto writer() noexcept -> WireWriter& { return connection_->core().writer(); }

  void reply(std::uint64_t call, ByteView head, const FrameBody& body,
             std::optional<std::uint32_t> checksum = std::nullopt) {
    connection_->core().reply(call, head, body, checksum);
    answered();
  }
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    connection_->core().fail(call, code, where);
    answered();
  }
  auto item(std::uint64_t call, ByteView head, const FrameBody& body) -> bool {
    const bool taken = connection_->core().item(call, head, body);
    answered();
    return taken;
  }
  void end_stream(std::uint64_t call) {
    connection_->core().end_stream(call);
    answered();
  }

  /// Ends the connection and tells the client why.
  void refuse(const std::error_code& code, std::string_view where) {
    connection_->core().refuse(code, where);
    answered();
  }

  /// Of the shell: something came in, or went out.
  void on_activity(Instant now) {
    const auto self = this->shared_from_this();
    {
      const detail::FlagWhile active{active_};
      ServerEvent event;
      while (owner_ != nullptr && connection_->core().next(now, event)) owner_->happened(self, event);
    }
    leave_when_finished();
  }

 private:
  using ConnectionType = Connection<ServerCore, BasicServerSession, Stream>;

  // An answer from outside of `on_activity`. It reads no request: whoever answers is never called from there.
  void answered() {
    if (active_ || owner_ == nullptr) return;
    const auto self = this->shared_from_this();
    leave_when_finished();
    connection_->settle_soon();
  }

  void leave_when_finished() {
    if (owner_ == nullptr || !connection_->core().finished()) return;
    connection_->detach();
    std::exchange(owner_, nullptr)->closed(this->shared_from_this());
  }

  Owner* owner_;  // null: it is gone, or this connection is over
  std::shared_ptr<ConnectionType> connection_;
  bool active_ = false;
};

/// Over TCP.
using ServerSession = BasicServerSession<TcpSocket>;

/// What handlers hold of a connection.
using ServerConnection = std::shared_ptr<ServerSession>;

}  // namespace distrib::inline v0
