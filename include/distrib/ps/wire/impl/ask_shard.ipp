// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/ask_shard.hpp>

#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <optional>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Calls one method of one shard, on a connection of its own.
template <class M>
auto call_shard(const Address& server, std::uint32_t shard, const typename M::Request& request, const AskOptions& how,
                Error& error) -> typename M::Reply {
  error = {};
  asio::io_context context{1};
  const auto begun = std::chrono::steady_clock::now();
  const std::string asked = "shard " + std::to_string(shard) + " of the parameter server at " + server.to_string();
  std::string text;
  typename M::Reply result;
  std::optional<RpcClient> client;

  const auto answered = [&](const std::error_code& ec, typename M::Reply reply) {
    if (ec) error = {ec, asked + (text.empty() ? "" : " (" + text + ")")};
    result = std::move(reply);
    context.stop();
  };
  ConnectOptions connecting;
  connecting.deadline = instant_after(begun, how.within);
  connecting.longest_try = how.within;
  connecting.most_tries = 1;
  const auto connected = [&](const Error& failure, std::optional<PeerStream> stream) {
    if (failure) {
      text = failure.where == server.to_string() ? "" : failure.where;
      return answered(failure.code, {});
    }
    RpcClientOptions options;
    options.service = shard;
    options.greeting_within = how.within;
    options.categories = ps_categories();
    options.secret = how.secret;
    options.transport = how.tls;
    client.emplace(*std::move(stream), options);
    client->async_call<M>(request, {how.within, {}, &text}, answered);
  };
  check_transport_of_job(how.tls, error);
  if (error) return {};
  const PeerConnector connector{context.get_executor(), server, std::move(connecting), connected,
                                PeerSecurity{how.tls, how.host}};
  context.run();
  return error ? typename M::Reply{} : result;
}

DISTRIB_DECL auto ask_shard(const Address& server, std::uint32_t shard, const AskOptions& how, Error& error)
    -> ShardStatus {
  return call_shard<Status>(server, shard, {}, how, error);
}

DISTRIB_DECL auto scale_shard(const Address& server, std::uint32_t shard, const ScaleRequest& request,
                              const AskOptions& how, Error& error) -> ScaleReply {
  return call_shard<Scale>(server, shard, request, how, error);
}

DISTRIB_DECL auto erase_on_shard(const Address& server, std::uint32_t shard, const EraseRequest& request,
                                 const AskOptions& how, Error& error) -> EraseReply {
  return call_shard<Erase>(server, shard, request, how, error);
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
