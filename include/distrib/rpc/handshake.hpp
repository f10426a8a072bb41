// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// With a secret there must be a nonce. Its lack is a mistake of the shell, not of a peer.
inline void check_nonce(const SharedSecret& secret, const Nonce& nonce) {
  if (secret && nonce == Nonce{}) throw_error(rpc_errc::unauthorized, "a core with a secret was given no nonce");
}

}  // namespace detail

/// The client's half of how two ends begin: it greets, the server answers; with a shared secret each proves to the
/// other that it knows it, the client by a second greeting. A core.
///
/// Threads: one at a time.
class ClientHandshake {
 public:
  /// `greeting`: what the client takes and wants. Throws `rpc_errc::unauthorized` for a secret without a nonce.
  ClientHandshake(Greeting greeting, SharedSecret secret, const Nonce& nonce) : secret_{std::move(secret)} {
    detail::check_nonce(secret_, nonce);
    if (secret_) greeting.nonce = nonce;
    head_ = greeting.encode();
  }

  /// Whether the server takes nothing but greetings before it has the client's proof.
  [[nodiscard]] auto holds_back() const noexcept -> bool { return static_cast<bool>(secret_); }

  /// If it holds back, what it has to say is added here, to be written ahead of everything else.
  [[nodiscard]] auto queue() noexcept -> FrameQueue& { return queue_; }

  /// Adds the greeting.
  void greet(FrameQueue& queue) const { queue.add({FrameKind::greeting}, {{}, {}, head_}); }

  /// Takes what the server said first, after which it is over, and adds the proof, or that the server is not believed.
  /// Failure: `protocol`, `unsupported_version`, `unauthorized`.
  [[nodiscard]] DISTRIB_DECL auto take(const Frame& frame, FrameQueue& queue, Greeting& server) -> Error;

 private:
  DISTRIB_DECL auto check(const Frame& frame, Greeting& server, WireWriter& answer) const -> Error;

  SharedSecret secret_;
  std::vector<std::byte> head_;
  FrameQueue queue_;
};

/// The server's half. A core.
///
/// Threads: one at a time.
class ServerHandshake {
 public:
  /// `greeting`: what the server takes. Throws `rpc_errc::unauthorized` for a secret without a nonce.
  ServerHandshake(const Greeting& greeting, std::uint32_t services, SharedSecret secret, const Nonce& nonce)
      : greeting_{greeting}, services_{services}, secret_{std::move(secret)} {
    detail::check_nonce(secret_, nonce);
    if (secret_) greeting_.nonce = nonce;
  }

  /// Takes what the client says, until it is `over()`, and adds the greeting that it is answered with. Failure:
  /// `protocol`, `unsupported_version`, `unknown_service`, `unauthorized`.
  [[nodiscard]] auto take(const Frame& frame, FrameQueue& queue) -> Error {
    if (frame.header->kind != FrameKind::greeting) return {rpc_errc::protocol, "instead of a greeting"};
    return expected_ ? take_proof(frame) : take_greeting(frame, queue);
  }

  /// Whether the client has shown who it is.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }

  /// The largest frame that it takes.
  [[nodiscard]] auto limits() const noexcept -> FrameLimits { return limits_; }

  /// The service that it wants, which may be `any_service`.
  [[nodiscard]] auto service() const noexcept -> std::uint32_t { return service_; }

 private:
  DISTRIB_DECL auto take_greeting(const Frame& frame, FrameQueue& queue) -> Error;

  DISTRIB_DECL auto take_proof(const Frame& frame) -> Error;

  Greeting greeting_;
  std::uint32_t services_;
  std::uint32_t service_ = 0;
  FrameLimits limits_;
  SharedSecret secret_;
  std::optional<Sha256Digest> expected_;  // the client's proof
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/handshake.ipp>
#endif
