// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/rank_client.hpp>

#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/server/server.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

const ClusterSpec rank_cluster{{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1", "127.0.0.1:1"}}};

/// A process that does what it is told.
struct Asking : RankOwner {
  Asking(asio::io_context& context, const Address& server, std::uint32_t index, std::uint32_t of_job) {
    RankClient::Options options;
    options.index = index;
    options.is_chief = index == 0;
    options.ranks = of_job;
    options.start_within = 200ms;
    RankOwner& owner = *this;
    client = std::make_shared<RankClient>(context.get_executor(), server, options, owner);
    asio::post(context, [this] { client->start(); });
  }
  ~Asking() override { client->close(); }
  [[nodiscard]] auto serves() const -> std::vector<Rank> override { return ranks; }
  void dealt(const AskRanksReply& reply) override { ranks = reply.serve; }
  void not_dealt(int with, const Error& because) override {
    code = with;
    why = because;
  }

  std::vector<Rank> ranks = {};
  std::optional<int> code = {};
  Error why = {};
  std::shared_ptr<RankClient> client;
};

}  // namespace

TEST_CASE("RankClient: two processes are dealt ranks; when one leaves, the other has all", "[ps]") {
  IoPool pool{1};
  ServerOptions of_server;
  of_server.ranks = 4;
  Server server{pool, rank_cluster, "ps", 0, StandardUpdaters{}, of_server};
  asio::io_context context{1};
  Asking first{context, {"127.0.0.1", server.port()}, 0, 4};
  Asking second{context, {"127.0.0.1", server.port()}, 1, 4};
  support::run_until(context, [&] { return first.ranks.size() == 2 && second.ranks.size() == 2; });
  CHECK(first.ranks == std::vector<Rank>{0, 1});
  CHECK(second.ranks == std::vector<Rank>{2, 3});
  second.client->leave();
  support::run_until(context, [&] { return first.ranks.size() == 4; });
  CHECK_FALSE(first.code);
  first.client->close();
}

TEST_CASE("RankClient: a server that was started without ranks refuses, with a sentence", "[ps]") {
  IoPool pool{1};
  Server server{pool, rank_cluster, "ps", 0};
  asio::io_context context{1};
  Asking asks{context, {"127.0.0.1", server.port()}, 0, 4};
  support::run_until(context, [&] { return asks.code.has_value(); });
  CHECK(asks.code == 65);
  CHECK(asks.why.code == ps_errc::other_ranks);
  CHECK(asks.why.where == "this parameter server was started without --ranks, the worker with it");
}

TEST_CASE("RankClient: a server that cannot be reached at the start ends the process with code 1", "[ps]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const Address address{"127.0.0.1", acceptor.local_endpoint().port()};
  acceptor.close();
  Asking asks{context, address, 0, 4};
  support::run_until(context, [&] { return asks.code.has_value(); });
  CHECK(asks.code == 1);
}
