// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/probe.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/rpc/error.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

auto flags_of(const std::string& job, const std::string& ps) -> ClusterFlags {
  ClusterFlags flags;
  flags.job_name = job;
  flags.ps_hosts = {ps};
  flags.worker_hosts = {"127.0.0.1:1"};
  return flags;
}

}  // namespace

TEST_CASE("probe: asks a parameter server by its address, or by its port on loopback, with its secret", "[ps][probe]") {
  IoPool pool{1};
  ServerOptions options;
  options.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes ok"));
  const ClusterSpec cluster{{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};
  const Server server{pool, cluster, "ps", 0, StandardUpdaters{}, options};
  const std::string port = ":" + std::to_string(server.port());
  AskOptions how;
  how.secret = options.rpc.secret;
  for (const std::string& address : {"127.0.0.1" + port, "name.invalid" + port}) {
    const Error error = probe(flags_of("ps", address), how);
    INFO(error.where << ": " << error.code.message());
    CHECK_FALSE(error);
  }
  CHECK(probe(flags_of("ps", "127.0.0.1" + port)).code == rpc_errc::unauthorized);
}

TEST_CASE("probe: a silent server, no server, a wrong address", "[ps][probe]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const std::string address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  AskOptions how;
  how.within = 50ms;
  const Error silent = probe(flags_of("ps", address), how);
  CHECK(silent.code == failure::timeout);
  CHECK(silent.where.starts_with("shard 0 of the parameter server at " + address));
  acceptor.close();
  CHECK(probe(flags_of("ps", address), how).code == net_errc::refused);
  CHECK(probe(flags_of("ps", "nonsense"), how).where == "nonsense");
}

TEST_CASE("probe: a task that is no parameter server is healthy", "[ps][probe]") {
  CHECK_FALSE(probe(flags_of("worker", "127.0.0.1:1")));
  CHECK_FALSE(probe(ClusterFlags{}));
}
