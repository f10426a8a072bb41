// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/handshake.hpp>

#include <distrib/core/hmac.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <array>
#include <cstring>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view server_label = "distrib server";

inline constexpr std::string_view client_label = "distrib client";

// Returns the proof by which one end shows that it has the secret: the HMAC of both greetings, as they were on the
// wire. The label makes the proofs of the two ends different, so no end accepts its own proof if it is sent back. The
// lengths fix where the first greeting ends, so that bytes cannot be moved from one greeting to the other. On a secure
// connection its binding follows.
DISTRIB_DECL auto greeting_proof(const SharedSecret& secret, std::string_view label, ByteView client_head,
                                 ByteView server_head, const ChannelBinding& binding) -> Sha256Digest {
  std::array<std::byte, 4> client_bytes;
  std::array<std::byte, 4> server_bytes;
  store_le(client_bytes.data(), static_cast<std::uint32_t>(client_head.size()));
  store_le(server_bytes.data(), static_cast<std::uint32_t>(server_head.size()));
  const ByteView bound = binding == ChannelBinding{} ? ByteView{} : ByteView{binding};
  return secret.sign({as_bytes(label), client_bytes, client_head, server_bytes, server_head, bound});
}

}  // namespace detail

DISTRIB_DECL auto ClientHandshake::take(const Frame& frame, FrameQueue& queue, Greeting& server) -> Error {
  WireWriter answer;
  Error error = check(frame, server, answer);
  if (!error && secret_) queue.add({FrameKind::greeting}, {{}, {}, answer.view()});
  if (error.code != rpc_errc::unauthorized) return error;
  answer.clear();
  encode_error(answer, error.code, error.where);
  queue.add({FrameKind::error}, {{}, {}, answer.view()});
  return error;
}

DISTRIB_DECL auto ClientHandshake::check(const Frame& frame, Greeting& server, WireWriter& answer) const -> Error {
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
  const Sha256Digest expected = detail::greeting_proof(secret_, detail::server_label, head_, without, binding_);
  if (!equal_in_constant_time(expected, *server.proof)) return {rpc_errc::unauthorized, {}};
  answer.bytes(8, detail::greeting_proof(secret_, detail::client_label, head_, without, binding_));
  return {};
}

DISTRIB_DECL auto ServerHandshake::take_greeting(const Frame& frame, FrameQueue& queue) -> Error {
  Greeting client;
  if (!client.decode(frame.head)) return {rpc_errc::protocol, "instead of a greeting"};
  if (client.oldest > rpc_version || client.version < oldest_rpc_version)
    return {rpc_errc::unsupported_version, "version " + std::to_string(client.version)};
  if (client.nonce && !secret_) return {rpc_errc::unauthorized, "the server has no shared secret, the client has one"};
  if (!client.nonce && secret_) return {rpc_errc::unauthorized, "the client has no shared secret, the server has one"};
  if (client.service >= services_ && client.service != any_service)
    return {rpc_errc::unknown_service,
            "service " + std::to_string(client.service) + " (counted from 0) of " + std::to_string(services_)};
  service_ = client.service;
  limits_ = client.limits;
  greeting_.version = std::min(client.version, rpc_version);
  std::vector<std::byte> head = greeting_.encode();
  if (secret_) {
    expected_ = detail::greeting_proof(secret_, detail::client_label, frame.head, head, binding_);
    greeting_.proof = detail::greeting_proof(secret_, detail::server_label, frame.head, head, binding_);
    head = greeting_.encode();
  }
  over_ = !secret_;
  queue.add({FrameKind::greeting}, {{}, {}, head});
  return {};
}

DISTRIB_DECL auto ServerHandshake::take_proof(const Frame& frame) -> Error {
  Sha256Digest proof{};  // not a valid proof
  WireReader reader{frame.head};
  while (reader.next())
    if (reader.tag() == wire_tag(8, WireType::bytes) && reader.bytes().size() == proof.size())
      std::memcpy(proof.data(), reader.bytes().data(), proof.size());
  over_ = reader.ok() && equal_in_constant_time(proof, *expected_);
  return over_ ? Error{} : Error{rpc_errc::unauthorized, {}};
}

}  // namespace v0
}  // namespace distrib
