// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/function_context.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/server/server.hpp>

#include "coordinator/loopback.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

namespace coordinated {

using distrib::coordinator_errc;
using distrib::Error;

namespace {

/// Parameter servers in this process.
struct ParameterServers {
  explicit ParameterServers(std::uint32_t count, std::uint32_t workers, distrib::ServerOptions options = {}) {
    const distrib::ClusterSpec cluster{{"ps", std::vector<std::string>(count, "127.0.0.1:0")},
                                       {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
    for (std::uint32_t task = 0; task < count; ++task) {
      servers.push_back(
          std::make_unique<distrib::Server>(pool, cluster, "ps", task, distrib::StandardUpdaters{}, options));
      hosts.push_back("127.0.0.1:" + std::to_string(servers.back()->port()));
    }
  }

  distrib::IoPool pool{2};
  std::vector<std::unique_ptr<distrib::Server>> servers;
  std::vector<std::string> hosts;
};

auto variables() -> Variables { return {{{6}, distrib::ConstantInitializer{1.0F}}, {{}}}; }

auto parameter_job(const distrib::ClusterSpec& cluster) -> distrib::ParameterJob {
  return distrib::make_parameter_job(variables(), cluster, {.updater = distrib::Sgd{.learning_rate = 0.5F}},
                                     distrib::FixedShardsPartitioner{2});
}

}  // namespace

TEST_CASE("FunctionContext: functions pull and push variables on parameter servers; after join all see all pushes",
          "[coordinator]") {
  ParameterServers ps{2, 2};
  Workers workers{2, {}, ps.hosts, parameter_job};
  Coordinator coordinator{workers.cluster()};
  CHECK(coordinator.fetch(coordinator.schedule<Read>()) == std::vector<float>{1, 1, 1, 1, 1, 1, 0});
  for (int i = 0; i < 40; ++i) coordinator.schedule<Push>(0.25F);
  coordinator.join();
  // Each worker, more than once: what a pull sees does not depend on who reads.
  for (int i = 0; i < 6; ++i)
    CHECK(coordinator.fetch(coordinator.schedule<Read>()) == std::vector<float>{-4, -4, -4, -4, -4, -4, 40});
  coordinator.finish();
  CHECK(workers.code(0) == 0);
  CHECK(workers.code(1) == 0);
  for (const auto& server : ps.servers) CHECK(server->join() == 0);
}

TEST_CASE("FunctionContext: a worker that is started again goes on with its rank, and every further push counts",
          "[coordinator]") {
  ParameterServers ps{2, 2};
  Workers workers{2, {}, ps.hosts, parameter_job};
  Coordinator coordinator{workers.cluster()};
  for (int i = 0; i < 10; ++i) coordinator.schedule<Push>(1.0F);
  coordinator.join();
  workers.start(0);
  workers.start(1);
  for (int i = 0; i < 10; ++i) coordinator.schedule<Push>(1.0F);
  coordinator.join();
  CHECK(coordinator.fetch(coordinator.schedule<Read>()) == std::vector<float>{-9, -9, -9, -9, -9, -9, 20});
  coordinator.finish();
  for (const auto& server : ps.servers) CHECK(server->join() == 0);
}

TEST_CASE("FunctionContext: the checkpoints that are asked for are whole", "[coordinator]") {
  const support::TempDirectory directory;
  ParameterServers ps{2, 1};
  Workers workers{1, {}, ps.hosts, [&](const distrib::ClusterSpec& cluster) {
                    return distrib::make_parameter_job(variables(), cluster,
                                                       {.directory = directory.path().string(), .checkpoint_every = 4},
                                                       distrib::FixedShardsPartitioner{2});
                  }};
  Coordinator coordinator{workers.cluster()};
  for (int i = 0; i < 8; ++i) coordinator.schedule<Push>(100.0F);
  coordinator.finish();
  for (const auto& server : ps.servers) CHECK(server->join() == 0);
  const auto reader = distrib::BundleReader::open(directory.path().string() + "/model.ckpt-8");
  std::vector<float> w(6);
  reader.read("w", distrib::Slice::whole({6}), std::as_writable_bytes(std::span{w}));
  CHECK(w == std::vector<float>(6, 1.0F - 8 * 100.0F * 0.01F));
}

TEST_CASE("P066 ClusterCoordinator: the third report of a lost parameter server is fatal, and names it",
          "[coordinator]") {
  ParameterServers ps{2, 1};
  Workers workers{1, {.ps_within = 50ms}, ps.hosts, parameter_job};
  Coordinator coordinator{workers.cluster()};
  coordinator.schedule<Push>(1.0F);
  coordinator.join();
  ps.servers[1].reset();  // as if its process were killed
  const auto value = coordinator.schedule<Push>(1.0F);
  Error error;
  coordinator.join(error);
  CHECK(error.code == coordinator_errc::ps_lost);
  CHECK(error.where.starts_with("/job:ps/task:1"));
  coordinator.fetch(value, error);
  CHECK(error.code == coordinator_errc::ps_lost);
}

TEST_CASE("FunctionContext: without variables, or with others, pull and push are refused", "[coordinator]") {
  distrib::detail::FunctionRun run;
  distrib::FunctionContext context{run};
  CHECK_THROWS_WITH(context.variables(), ContainsSubstring("the worker has no variables"));
  distrib::RuntimeValues values{distrib::RuntimeVariables{}};
  Error error;
  context.pull(values, error);
  CHECK(error.code == coordinator_errc::no_parameters);
  context.push(distrib::RuntimeGradients{distrib::RuntimeVariables{}}, error);
  CHECK(error.code == coordinator_errc::no_parameters);
}

}  // namespace coordinated
