// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/ask_status.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>

#include <string>
#include <system_error>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback_job::Worker;

namespace {

const ClusterSpec asked_cluster{{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};

auto failure_of(const Address& server, const AskOptions& how) -> Error {
  try {
    (void)ask_status(server, how);
  } catch (const std::system_error& error) {
    return error_of(error);
  }
  FAIL("a server answered");
  return {};
}

}  // namespace

TEST_CASE("ask_status: one shard before the job, all shards during it", "[ps][status]") {
  IoPool pool{1};
  Server server{pool, asked_cluster, "ps", 0};
  const Address address{"127.0.0.1", server.port()};
  std::vector<ShardStatus> seen = ask_status(address, {});
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].shards == 0);
  CHECK(seen[0].ranks == 1);

  Job job = loopback_job::make(1, 1);
  job.shards_per_task = 2;
  job.parts.back().shard = 1;
  asio::io_context context{1};
  Worker worker{context, job, 0, {address}};
  worker.at_step = [&](Step step) {
    if (step == 7) seen = ask_status(address, {});
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  REQUIRE(seen.size() == 2);
  for (std::uint32_t s = 0; s < 2; ++s) {
    CHECK(seen[s].shard == s);
    CHECK(seen[s].job_hash == to_hex(job_hash(job)));
    CHECK(seen[s].step == 6);
    CHECK(seen[s].of_ranks == std::vector<ShardStatus::RankStatus>{{0, true, 6}});
    CHECK(seen[s].of_variables.size() == 1);
  }
}

TEST_CASE("ask_status: no server, a silent server, and a secret", "[ps][status]") {
  asio::io_context context{1};
  SECTION("no server") {
    support::Acceptor acceptor{context, support::loopback()};
    const Address address{"127.0.0.1", acceptor.local_endpoint().port()};
    acceptor.close();
    const Error error = failure_of(address, {});
    CHECK(error.code == net_errc::refused);
    CHECK(error.where == "shard 0 of the parameter server at " + address.to_string());
  }
  SECTION("a silent server") {
    const support::Acceptor acceptor{context, support::loopback()};
    AskOptions how;
    how.within = 50ms;
    const Error error = failure_of({"127.0.0.1", acceptor.local_endpoint().port()}, how);
    CHECK(error.code == failure::timeout);
    CHECK_THAT(error.where, ContainsSubstring("shard 0 of the parameter server at 127.0.0.1:"));
  }
  SECTION("a secret") {
    IoPool pool{1};
    ServerOptions options;
    options.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes ok"));
    const Server server{pool, asked_cluster, "ps", 0, StandardUpdaters{}, options};
    const Address address{"127.0.0.1", server.port()};
    CHECK(failure_of(address, {}).code == rpc_errc::unauthorized);
    AskOptions how;
    how.secret = options.rpc.secret;
    how.within = std::chrono::milliseconds::max();  // for ever
    CHECK(ask_status({"localhost", server.port()}, how).size() == 1);
  }
}
