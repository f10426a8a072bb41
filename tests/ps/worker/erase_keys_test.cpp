// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/erase_keys.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/server/server.hpp>

#include <vector>

using namespace distrib;

TEST_CASE("erase_keys: a server without a job, and one that cannot be reached", "[ps]") {
  const ClusterSpec cluster{{"ps", {"127.0.0.1:0"}}, {"worker", {"127.0.0.1:1"}}};
  IoPool pool{1};
  Server server{pool, cluster, "ps", 0, StandardUpdaters{}};
  Error error;
  const KeysErased none = erase_keys(std::vector<Address>{{"127.0.0.1", server.port()}}, "users", {1}, {}, error);
  CHECK(error.code == ps_errc::not_erasable);
  CHECK(none.keys() == 0);

  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const std::vector<Address> servers{{"127.0.0.1", acceptor.local_endpoint().port()}};
  acceptor.close();
  static_cast<void>(erase_keys(servers, "users", {1}, {}, error));
  CHECK(error.code == net_errc::refused);
}
