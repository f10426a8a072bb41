// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/hmac.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/remote_error.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

inline constexpr std::string_view server_label = "distrib server";
inline constexpr std::string_view client_label = "distrib client";

/// What each end proves its secret by: a code of both greetings, as they came over the wire. The label keeps an end
/// from being answered with its own words, the lengths a byte from moving over from one greeting to the other.
inline auto greeting_proof(const SharedSecret& secret, std::string_view label, ByteView client_head,
                           ByteView server_head) -> Sha256Digest {
  std::array<std::byte, 4> client_bytes;
  std::array<std::byte, 4> server_bytes;
  store_le(client_bytes.data(), static_cast<std::uint32_t>(client_head.size()));
  store_le(server_bytes.data(), static_cast<std::uint32_t>(server_head.size()));
  return secret.sign({as_bytes(label), client_bytes, client_head, server_bytes, server_head});
}

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
  template <class = void>
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
  template <class = void> [[nodiscard]] auto take(const Frame& frame, FrameQueue& queue, Greeting& server) -> Error {
    WireWriter answer;
    Error error = check(frame, server, answer);
    if (!error && secret_) queue.add({FrameKind::greeting}, {{}, {}, answer.view()});
    if (error.code != rpc_errc::unauthorized) return error;
    answer.clear();
    encode_error(answer, error.code, error.where);
    queue.add({FrameKind::error}, {{}, {}, answer.view()});
    return error;
  }

 private:
  template <class = void> auto check(const Frame& frame, Greeting& server, WireWriter& answer) const -> Error {
    if (frame.header->kind != FrameKind::greeting || !server.decode(frame.head))
      return {rpc_errc::protocol, "instead of a greeting"};
    if (server.version > rpc_version || server.version < oldest_rpc_version)
      return {rpc_errc::unsupported_version, "version " + std::to_string(server.version)};
    if (!secret_) {
      if (!server.nonce) return {};
      return {rpc_errc::unauthorized, "the client has no shared secret, the server has one"};
    }
    if (!server.nonce) return {rpc_errc::unauthorized, "the server has no shared secret, the client has one"};
    if (!server.proof || frame.head.size() < Greeting::proof_bytes) return {rpc_errc::unauthorized, {}};
    const ByteView without = frame.head.first(frame.head.size() - Greeting::proof_bytes);
    const Sha256Digest expected = detail::greeting_proof(secret_, detail::server_label, head_, without);
    if (!equal_in_constant_time(expected, *server.proof)) return {rpc_errc::unauthorized, {}};
    answer.bytes(8, detail::greeting_proof(secret_, detail::client_label, head_, without));
    return {};
  }

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
  template <class = void>
  ServerHandshake(const Greeting& greeting, std::uint32_t services, SharedSecret secret, const Nonce& nonce)
      : greeting_{greeting}, services_{services}, secret_{std::move(secret)} {
    detail::check_nonce(secret_, nonce);
    if (secret_) greeting_.nonce = nonce;
  }

  /// Takes what the client says, until it is `over()`, and adds the greeting that it is answered with. Failure:
  /// `protocol`, `unsupported_version`, `unknown_service`, `unauthorized`.
  template <class = void> [[nodiscard]] auto take(const Frame& frame, FrameQueue& queue) -> Error {
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
  template <class = void> auto take_greeting(const Frame& frame, FrameQueue& queue) -> Error {
    Greeting client;
    if (!client.decode(frame.head)) return {rpc_errc::protocol, "instead of a greeting"};
    if (client.oldest > rpc_version || client.version < oldest_rpc_version)
      return {rpc_errc::unsupported_version, "version " + std::to_string(client.version)};
    if (client.nonce && !secret_)
      return {rpc_errc::unauthorized, "the server has no shared secret, the client has one"};
    if (!client.nonce && secret_)
      return {rpc_errc::unauthorized, "the client has no shared secret, the server has one"};
    if (client.service >= services_ && client.service != any_service)
      return {rpc_errc::unknown_service,
              "service " + std::to_string(client.service) + " of " + std::to_string(services_)};
    service_ = client.service;
    limits_ = client.limits;
    greeting_.version = std::min(client.version, rpc_version);
    std::vector<std::byte> head = greeting_.encode();
    if (secret_) {
      expected_ = detail::greeting_proof(secret_, detail::client_label, frame.head, head);
      greeting_.proof = detail::greeting_proof(secret_, detail::server_label, frame.head, head);
      head = greeting_.encode();
    }
    over_ = !secret_;
    queue.add({FrameKind::greeting}, {{}, {}, head});
    return {};
  }

  template <class = void> auto take_proof(const Frame& frame) -> Error {
    Sha256Digest proof{};  // nobody's
    WireReader reader{frame.head};
    while (reader.next())
      if (reader.tag() == wire_tag(8, WireType::bytes) && reader.bytes().size() == proof.size())
        std::memcpy(proof.data(), reader.bytes().data(), proof.size());
    over_ = reader.ok() && equal_in_constant_time(proof, *expected_);
    return over_ ? Error{} : Error{rpc_errc::unauthorized, {}};
  }

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
