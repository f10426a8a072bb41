// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/rpc/backoff.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One connection of a pool: a client that is made again whenever its connection ends.
///
/// The owner has the members `executor`, `address`, `options`, and an `observer` of calls. The owner must call `woken`
/// at the time that `wake()` returns. This object calls these functions of the owner:
/// - `arm()`: the result of `wake()` has changed; after the other functions it may have changed too;
/// - `came()`: the client accepts calls;
/// - `went(code, text)`: the client accepts no more calls;
/// - `missed(error)`: an attempt to connect has failed.
///
/// In the last three functions the owner may call `end()`. When a connection ends, its calls complete before `went` or
/// `missed` is called.
template <class Owner, CallObserver Observes> class KeptClient {
 public:
  using Client = BasicRpcClient<Observes>;

  KeptClient(Owner& owner, const Backoff& backoff) : owner_{owner}, backoff_{backoff} {}

  /// Starts an attempt to connect.
  void connect() {
    const Instant now = Clock::now();
    due_ = never;
    try_ends_ = instant_after(now, owner_.options.longest_try);
    backoff_.begin(now);
    ConnectOptions how;
    how.deadline = try_ends_;
    how.longest_try = owner_.options.longest_try;
    how.most_tries = 1;
    connector_.reset(new PeerConnector{owner_.executor,
                                       owner_.address,
                                       std::move(how),
                                       [this](const Error& failure, std::optional<PeerStream> stream) {
                                         connector_.reset();
                                         failure ? missed(failure) : connected(*std::move(stream));
                                       },
                                       {owner_.options.client.transport}});
  }

  /// Ends all connections and attempts. The owner is not informed.
  void end() {
    due_ = never;
    is_up_ = false;
    connector_.reset();
    session_.reset();
    leaving_.clear();
  }

  /// True while the client accepts calls.
  [[nodiscard]] auto is_up() const noexcept -> bool { return is_up_; }

  /// Returns the client; null while it accepts no calls.
  [[nodiscard]] auto client() noexcept -> Client* { return is_up_ ? &session_->client : nullptr; }

  /// Returns when `woken` must be called; `Instant::max()`: never.
  [[nodiscard]] auto wake() const noexcept -> Instant { return due_; }
  /// Connects if a pause is over; ends a connection that was not greeted in time.
  void woken(Instant now) {
    if (now < due_) return;
    if (std::exchange(session_, nullptr) == nullptr) return connect();
    missed({rpc_errc::silent, owner_.address.to_string()});
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Instant never = Instant::max();

  /// A connection that was made; it may wait for the server's greeting.
  struct Session {
    std::uint64_t number;
    Client client;
  };

  void connected(PeerStream stream) {
    const std::uint64_t number = ++last_number_;
    session_.reset(
        new Session{number, Client{std::move(stream), owner_.options.client,
                                   [this, number](const Error& reason) { closed(number, reason); },
                                   [this](bool available) { available ? greeted() : goodbye(); }, owner_.observer}});
    due_ = try_ends_;
    owner_.arm();
  }

  void greeted() {
    is_up_ = true;
    due_ = never;
    backoff_.succeeded();
    owner_.came();
  }

  // The calls in flight on this connection can still be answered.
  void goodbye() {
    is_up_ = false;
    session_->client.drain();
    leaving_.push_back(std::move(session_));
    due_ = backoff_.failed(Clock::now());
    owner_.went(rpc_errc::closed, "the server accepts no more calls");
  }

  void closed(std::uint64_t number, const Error& reason) {
    std::erase_if(leaving_, [&](const auto& session) { return session->number == number; });
    if (session_ == nullptr || session_->number != number) return;
    session_.reset();
    if (!std::exchange(is_up_, false)) return missed(reason);
    due_ = backoff_.failed(Clock::now());
    owner_.went(reason.code, reason.where);
  }

  void missed(const Error& reason) {
    due_ = backoff_.failed(Clock::now());
    owner_.missed(reason);
  }

  Owner& owner_;
  Backoff backoff_;
  std::unique_ptr<PeerConnector> connector_;
  std::unique_ptr<Session> session_;
  std::vector<std::unique_ptr<Session>> leaving_;  // the server has sent a goodbye; calls are in flight
  std::uint64_t last_number_ = 0;
  bool is_up_ = false;
  // with a session that is not up: when to give it up; with neither session nor connector: when to connect
  Instant due_ = never;
  Instant try_ends_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
