// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/parameter_client.hpp>

#include <distrib/coordinator/error.hpp>
#include <distrib/ps/server/server.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <memory>

using namespace std::chrono_literals;
using distrib::coordinator_errc;
using distrib::ParameterClient;
using distrib::ParameterError;

namespace {

struct OneServer {
  OneServer() { start("127.0.0.1:0"); }
  void start(const std::string& address) {
    server = std::make_unique<distrib::Server>(
        pool, distrib::ClusterSpec{{"ps", {address}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0);
  }
  [[nodiscard]] auto job() const -> distrib::ParameterJob {
    const distrib::ClusterSpec cluster{{"ps", {"127.0.0.1:" + std::to_string(server->port())}}, {"worker", {"w:1"}}};
    return distrib::make_parameter_job(distrib::RuntimeVariables{{{"w", distrib::DType::float32, {3}}}}, cluster,
                                       {.updater = distrib::Sgd{.learning_rate = 1.0F}});
  }

  distrib::IoPool pool{1};
  std::unique_ptr<distrib::Server> server;
};

struct Client {
  explicit Client(const distrib::ParameterJob& job)
      : client{std::make_unique<ParameterClient>(io, job, 0, distrib::WorkerClientOptions{})} {}
  ~Client() {
    io.stop();
    io.join();
  }
  static auto in(std::chrono::milliseconds time) -> distrib::Instant { return std::chrono::steady_clock::now() + time; }

  auto first() -> float {
    distrib::RuntimeValues values{client->variables()};
    const ParameterError failed = client->pull(values, in(30s), stopped);
    CHECK_FALSE(failed.error);
    return reinterpret_cast<const float*>(values.data(0))[0];
  }
  auto push(float gradient, std::chrono::milliseconds within = 30s) -> ParameterError {
    distrib::RuntimeGradients gradients{client->variables()};
    for (int i = 0; i < 3; ++i) reinterpret_cast<float*>(gradients.data(0))[i] = gradient;
    return client->push(gradients, in(within), stopped);
  }

  std::atomic<bool> stopped = false;
  distrib::IoPool io{1};
  std::unique_ptr<ParameterClient> client;
};

}  // namespace

TEST_CASE("ParameterClient: pull, push, settle, finish", "[coordinator]") {
  OneServer ps;
  {
    Client client{ps.job()};
    CHECK(client.first() == 0);
    CHECK(client.first() == 0);  // as often as one likes
    CHECK_FALSE(client.push(1).error);
    CHECK_FALSE(client.push(2).error);  // without a pull between
    CHECK_FALSE(client.client->settle(Client::in(30s), client.stopped).error);
    CHECK(client.first() == -3);
    CHECK_FALSE(client.client->finish(Client::in(30s), client.stopped).error);
    CHECK_FALSE(client.client->finish(Client::in(30s), client.stopped).error);  // once more is harmless
  }
  CHECK(ps.server->join() == 0);
}

TEST_CASE("ParameterClient: a wait ends at its deadline with the servers that are awaited, or when it is stopped",
          "[coordinator]") {
  OneServer ps;
  Client client{ps.job()};
  CHECK(client.first() == 0);
  const std::string address = "127.0.0.1:" + std::to_string(ps.server->port());
  ps.server.reset();
  ParameterError failed = client.push(1, 50ms);  // the values of the last pull are still there
  CHECK_FALSE(failed.error);
  failed = client.client->settle(Client::in(50ms), client.stopped);
  CHECK(failed.error.code == coordinator_errc::ps_unreachable);
  CHECK(failed.error.where == "/job:ps/task:0");
  CHECK(failed.unreachable_ps == std::vector<std::uint32_t>{0});
  client.stopped = true;
  client.client->wake_up();
  failed = client.client->settle(Client::in(30s), client.stopped);
  CHECK(failed.error.code == coordinator_errc::cancelled);
  CHECK(failed.unreachable_ps.empty());
  client.stopped = false;
  ps.start(address);  // the push is sent again to the server that is back
  CHECK_FALSE(client.client->settle(Client::in(30s), client.stopped).error);
  CHECK(client.first() == -1);
}
