// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/async_connect.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a parameter server is asked.
struct AskOptions {
  std::chrono::milliseconds within{5'000};  ///< For each shard: to be connected to, and as long to answer.
  SharedSecret secret;
};

/// How one shard of a task is. Waits, at most twice `how.within`; what is not there is told at once. Fails with a
/// `net_errc`, `rpc_errc` or `ps_errc`, and `where` names whom it waited for. Threads: any.
template <class = void>
[[nodiscard]] auto ask_shard(const Address& server, std::uint32_t shard, const AskOptions& how, Error& error)
    -> ShardStatus {
  error = {};
  asio::io_context context{1};
  const auto begun = std::chrono::steady_clock::now();
  const std::string whom = "shard " + std::to_string(shard) + " of the parameter server at " + server.to_string();
  std::string text;
  ShardStatus status;
  std::optional<RpcClient> client;

  const auto answered = [&](const std::error_code& ec, ShardStatus reply) {
    if (ec) error = {ec, whom + (text.empty() ? "" : " (" + text + ")")};
    status = std::move(reply);
    context.stop();
  };
  ConnectOptions connecting;
  connecting.deadline = begun + how.within;
  connecting.longest_try = how.within;
  connecting.most_tries = 1;
  async_connect(context.get_executor(), server, connecting, [&](const std::error_code& ec, TcpSocket socket) {
    if (ec) return answered(ec, {});
    RpcClientOptions options;
    options.service = shard;
    options.greeting_within = how.within;
    options.categories = ps_categories();
    options.secret = how.secret;
    client.emplace(std::move(socket), options);
    client->async_call<Status>({}, {how.within, {}, &text}, answered);
  });
  context.run();
  return error ? ShardStatus{} : status;
}

/// How each shard of the task at `server` is, in their order; of one that knows no job yet, its first. Fails likewise,
/// and then the result is empty.
template <class = void>
[[nodiscard]] auto ask_status(const Address& server, const AskOptions& how, Error& error) -> std::vector<ShardStatus> {
  constexpr std::uint32_t most_shards = 256;  // of one task
  std::vector<ShardStatus> all{ask_shard(server, 0, how, error)};
  const std::uint32_t shards = std::min(all.front().shards, most_shards);
  for (std::uint32_t shard = 1; shard < shards && !error; ++shard) all.push_back(ask_shard(server, shard, how, error));
  return error ? std::vector<ShardStatus>{} : all;
}
/// The same; throws `std::system_error`.
template <class = void>
[[nodiscard]] auto ask_status(const Address& server, const AskOptions& how = {}) -> std::vector<ShardStatus> {
  Error error;
  return detail::or_throw(ask_status(server, how, error), error);
}

}  // namespace v0
}  // namespace distrib
