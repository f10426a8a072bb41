// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/async_connect.hpp>
#include <distrib/ps/methods.hpp>
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

namespace tools {

/// How a parameter server is asked.
struct AskOptions {
  std::chrono::milliseconds within{5'000};  ///< For each shard: to be connected to, and as long to answer.
  distrib::SharedSecret secret;
};

/// Asks one shard. Throws what failed, with whom it waited for.
[[nodiscard]] inline auto ask_shard(const distrib::Address& server, std::uint32_t shard, const AskOptions& how)
    -> distrib::ShardStatus {
  asio::io_context context{1};
  const auto begun = std::chrono::steady_clock::now();
  const std::string whom = "shard " + std::to_string(shard) + " of the parameter server at " + server.to_string();
  distrib::Error failure;
  std::string text;
  distrib::ShardStatus status;
  std::optional<distrib::RpcClient> client;

  const auto answered = [&](const std::error_code& ec, distrib::ShardStatus reply) {
    failure = {ec, whom + (text.empty() ? "" : " (" + text + ")")};
    status = std::move(reply);
    context.stop();
  };
  distrib::ConnectOptions connecting;
  connecting.deadline = begun + how.within;
  connecting.longest_try = how.within;
  connecting.most_tries = 1;  // somebody looks at it: what is not there is told at once
  distrib::async_connect(context.get_executor(), server, connecting,
                         [&](const std::error_code& ec, distrib::TcpSocket socket) {
                           if (ec) return answered(ec, {});
                           distrib::RpcClientOptions options;
                           options.service = shard;
                           options.greeting_within = how.within;
                           options.categories = distrib::ps_categories();
                           options.secret = how.secret;
                           client.emplace(std::move(socket), options);
                           client->async_call<distrib::Status>({}, {how.within, {}, &text}, answered);
                         });
  context.run();
  if (failure.code) distrib::throw_error(failure.code, failure.where);
  return status;
}

/// Asks every shard of the task. Throws likewise.
[[nodiscard]] inline auto ask_status(const distrib::Address& server, const AskOptions& how)
    -> std::vector<distrib::ShardStatus> {
  constexpr std::uint32_t most_shards = 256;  // of one task
  std::vector<distrib::ShardStatus> all{ask_shard(server, 0, how)};
  const std::uint32_t shards = std::min(all.front().shards, most_shards);
  for (std::uint32_t shard = 1; shard < shards; ++shard) all.push_back(ask_shard(server, shard, how));
  return all;
}

}  // namespace tools
