// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/look_client.hpp>

#include <distrib/ps/server/server.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

auto looked_cluster(std::vector<std::string> ports) -> ClusterSpec {
  return {{"ps", std::move(ports)}, {"worker", {"127.0.0.1:1"}}};
}

/// An onlooker that looks again and again, and notes what it sees.
struct Watcher : LookOwner {
  Watcher(asio::io_context& context, const Job& job, std::vector<Address> servers, LookClientOptions options = {})
      : client{std::make_shared<LookClient>(context.get_executor(), job, std::move(servers), std::vector<WantedRows>{},
                                            std::move(options), *this)} {
    asio::post(context, [this] {
      client->start();
      client->look();
    });
  }
  ~Watcher() override { client->close(); }

  void looked(LookedAt values) override {
    seen[values.step] = loopback_job::hash_of(values.blocks);
    if (values.is_last) return;
    if (waits) client->look_at_end();
    else client->look();
  }
  void cannot_keep_up(Step) override { client->look(); }
  void troubled(const Error& because) override {
    ++troubles;
    trouble = because;
  }
  void ended(int with, const Error& because) override {
    code = with;
    why = because;
  }

  std::map<Step, std::string> seen;
  bool waits = false;  ///< Wants only the values at the end, from now on.
  unsigned troubles = 0;
  Error trouble;
  std::optional<int> code;
  Error why;
  std::shared_ptr<LookClient> client;
};

/// Two servers, a worker, and the hash of the values that it computes each step from.
struct LookedCluster {
  explicit LookedCluster(Step steps) : job{loopback_job::make(2, 1, steps)} {
    for (std::uint32_t task = 0; task < 2; ++task) {
      servers.push_back(std::make_unique<Server>(pool, looked_cluster({"127.0.0.1:0", "127.0.0.1:0"}), "ps", task));
      addresses.push_back({"127.0.0.1", servers.back()->port()});
    }
  }
  void train() { worker = std::make_unique<loopback_job::Worker>(context, job, 0U, addresses); }

  IoPool pool{1};
  asio::io_context context{1};
  Job job;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<Address> addresses;
  std::unique_ptr<loopback_job::Worker> worker;
};

}  // namespace

TEST_CASE("LookClient: waits for the job, sees the values of its steps, and the last ones", "[ps]") {
  LookedCluster cluster{200};
  Watcher watcher{cluster.context, cluster.job, cluster.addresses};
  support::run_until(cluster.context, [&] { return watcher.troubles != 0; });
  CHECK(watcher.trouble.code == ps_errc::nobody_joined);
  cluster.train();
  support::run_until(cluster.context, [&] { return watcher.seen.contains(200); });
  support::run_until(cluster.context, [&] { return cluster.worker->is_over; });
  CHECK(cluster.worker->end.code == 0);
  CHECK(watcher.seen.at(200) == loopback_job::hash_of(cluster.worker->end.result));
  CHECK_FALSE(watcher.code);
}

TEST_CASE("LookClient: the values at the end come without a further look; then the job is done", "[ps]") {
  LookedCluster cluster{60};
  cluster.train();
  Watcher watcher{cluster.context, cluster.job, cluster.addresses};
  watcher.waits = true;
  support::run_until(cluster.context, [&] { return watcher.seen.contains(60); });
  support::run_until(cluster.context, [&] { return cluster.worker->is_over; });
  CHECK(watcher.seen.at(60) == loopback_job::hash_of(cluster.worker->end.result));
  CHECK(watcher.seen.size() <= 2);
}

TEST_CASE("LookClient: is refused if the servers train another job", "[ps]") {
  LookedCluster cluster{100'000};
  cluster.train();
  Job other = cluster.job;
  other.seed = 6;
  Watcher watcher{cluster.context, other, cluster.addresses};
  support::run_until(cluster.context, [&] { return watcher.code.has_value(); });
  CHECK(watcher.code == 65);
  CHECK(watcher.why.code == ps_errc::job_mismatch);
  CHECK_THAT(watcher.why.where, ContainsSubstring("/job:ps/task:"));
  cluster.worker->client->stop();
  support::run_until(cluster.context, [&] { return cluster.worker->is_over; });
}

TEST_CASE("LookClient: the ninth onlooker waits until another one has gone", "[ps]") {
  LookedCluster cluster{1'000'000};
  cluster.train();
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 8; ++i) {
    watchers.push_back(std::make_unique<Watcher>(cluster.context, cluster.job, cluster.addresses));
    watchers.back()->waits = true;
  }
  support::run_until(cluster.context, [&] {
    for (const auto& watcher : watchers)
      if (watcher->seen.empty()) return false;
    return true;
  });
  Watcher ninth{cluster.context, cluster.job, cluster.addresses};
  support::run_until(cluster.context, [&] { return ninth.troubles != 0; });
  CHECK(ninth.trouble.code == ps_errc::too_many_onlookers);
  CHECK(ninth.seen.empty());
  watchers.pop_back();
  support::run_until(cluster.context, [&] { return !ninth.seen.empty(); });
  cluster.worker->client->stop();
  support::run_until(cluster.context, [&] { return cluster.worker->is_over; });
}

TEST_CASE("LookClient: a server that cannot be reached at the start ends the onlooker with code 1", "[ps]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const Address nobody{"127.0.0.1", acceptor.local_endpoint().port()};
  acceptor.close();
  LookClientOptions options;
  options.start_within = 100ms;
  Watcher watcher{context, loopback_job::make(1, 1), {nobody}, options};
  support::run_until(context, [&] { return watcher.code.has_value(); });
  CHECK(watcher.code == 1);
  CHECK(watcher.why.code == net_errc::refused);
}

TEST_CASE("LookClient: refuses a job whose shards have larger values than a message may have", "[ps]") {
  asio::io_context context{1};
  LookClientOptions options;
  options.rpc.limits.body_bytes = 383;
  CHECK_THROWS_WITH((Watcher{context, loopback_job::make(2, 1), {{"127.0.0.1", 1}, {"127.0.0.1", 2}}, options}),
                    ContainsSubstring("shard 1: 384 bytes, allowed are 383"));
}

TEST_CASE("LookClient: begins again when a server comes back", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  std::optional<Server> server{std::in_place, pool, looked_cluster({"127.0.0.1:0"}), "ps", 0U};
  const std::uint16_t port = server->port();
  const Job job = loopback_job::make(1, 1, 300);
  Watcher watcher{context, job, {{"127.0.0.1", port}}};
  loopback_job::Worker worker{context, job, 0, {{"127.0.0.1", port}}};
  bool died = false;
  worker.at_step = [&](Step step) {
    if (step == 100 && !std::exchange(died, true)) server.reset();
  };
  worker.heard = [&](const Event& event) {
    if (event.kind == Event::Kind::lost && !server)
      server.emplace(pool, looked_cluster({"127.0.0.1:" + std::to_string(port)}), "ps", 0U);
  };
  support::run_until(context, [&] { return watcher.seen.contains(300) && worker.is_over; });
  CHECK(died);
  CHECK(watcher.troubles != 0);
  CHECK(watcher.seen.at(300) == loopback_job::hash_of(worker.end.result));
}
