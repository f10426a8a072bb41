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
    if (values.is_last || !looks) return;
    if (waits) client->look_at_end();
    else client->look();
  }
  void cannot_keep_up(Step) override {
    if (looks) client->look();
  }
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
  bool looks = true;  ///< Looks again after a look.
  unsigned troubles = 0;
  Error trouble;
  std::optional<int> code;
  Error why;
  std::shared_ptr<LookClient> client;
};

/// Two servers, and a worker with a context of its own, so that the job stands still while that context does not run.
struct LookedCluster {
  explicit LookedCluster(Step steps) : job{loopback_job::make(2, 1, steps)} {
    for (std::uint32_t task = 0; task < 2; ++task) {
      servers.push_back(std::make_unique<Server>(pool, looked_cluster({"127.0.0.1:0", "127.0.0.1:0"}), "ps", task));
      addresses.push_back({"127.0.0.1", servers.back()->port()});
    }
  }
  /// Trains until the contribution to this step is made, and perhaps sent.
  void train_to(Step step) {
    if (worker == nullptr) worker = std::make_unique<loopback_job::Worker>(of_worker, job, 0U, addresses);
    bool reached = false;
    worker->at_step = [&reached, step](Step at) { reached = reached || at >= step; };
    support::run_until(of_worker, [&] { return reached; });
    worker->at_step = nullptr;
  }
  /// Trains to the end.
  void finish() {
    support::run_until(of_worker, [&] { return worker->is_over; });
  }

  IoPool pool{1};
  asio::io_context context{1};
  asio::io_context of_worker{1};
  Job job;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<Address> addresses;
  std::unique_ptr<loopback_job::Worker> worker;
};

}  // namespace

TEST_CASE("LookClient: waits for the job, and sees the values of a step", "[ps]") {
  LookedCluster cluster{200};
  Watcher watcher{cluster.context, cluster.job, cluster.addresses};
  support::run_until(cluster.context, [&] { return watcher.troubles != 0; });
  CHECK(watcher.trouble.code == ps_errc::nobody_joined);
  CHECK(watcher.seen.empty());
  cluster.train_to(50);
  support::run_until(cluster.context, [&] { return !watcher.seen.empty(); });
  const auto [step, seen] = *watcher.seen.rbegin();
  CHECK((step == 49 || step == 50));  // the last contribution may be on its way
  Watcher other{cluster.context, cluster.job, cluster.addresses};
  support::run_until(cluster.context, [&] { return !other.seen.empty(); });
  if (other.seen.contains(step)) CHECK(other.seen.at(step) == seen);
  cluster.finish();
  CHECK(cluster.worker->end.code == 0);
  CHECK(loopback_job::hash_of(cluster.worker->end.result) != seen);
}

TEST_CASE("LookClient: the values at the end come without a further look; then the job is done", "[ps]") {
  LookedCluster cluster{60};
  cluster.train_to(30);
  Watcher watcher{cluster.context, cluster.job, cluster.addresses};
  watcher.waits = true;
  support::run_until(cluster.context, [&] { return !watcher.seen.empty(); });
  cluster.context.run_for(100ms);  // its calls for the end arrive
  cluster.finish();
  support::run_until(cluster.context, [&] { return watcher.seen.contains(60); });
  CHECK(watcher.seen.at(60) == loopback_job::hash_of(cluster.worker->end.result));
  CHECK(watcher.seen.size() == 2);
}

TEST_CASE("LookClient: hears that the job is done while it does not look", "[ps]") {
  LookedCluster cluster{60};
  cluster.train_to(30);
  Watcher watcher{cluster.context, cluster.job, cluster.addresses};
  watcher.looks = false;
  support::run_until(cluster.context, [&] { return !watcher.seen.empty(); });
  cluster.finish();
  support::run_until(cluster.context, [&] { return watcher.code.has_value(); });
  CHECK(watcher.code == 0);
  CHECK(watcher.troubles == 0);
}

TEST_CASE("LookClient: hears the end from one server while it cannot reach the other, and so cannot look", "[ps]") {
  LookedCluster cluster{60};
  cluster.train_to(30);
  support::Acceptor acceptor{cluster.context, support::loopback()};
  std::vector<Address> addresses = cluster.addresses;
  addresses[1].port = acceptor.local_endpoint().port();
  acceptor.close();
  Watcher watcher{cluster.context, cluster.job, addresses};
  support::run_until(cluster.context, [&] { return watcher.troubles > 1; });
  cluster.context.run_for(100ms);  // its call at the first server arrives
  cluster.finish();
  support::run_until(cluster.context, [&] { return watcher.code.has_value(); });
  CHECK(watcher.code == 0);
  CHECK(watcher.seen.empty());
}

TEST_CASE("LookClient: is refused if the servers train another job", "[ps]") {
  LookedCluster cluster{200};
  cluster.train_to(10);
  Job other = cluster.job;
  other.seed = 6;
  Watcher watcher{cluster.context, other, cluster.addresses};
  support::run_until(cluster.context, [&] { return watcher.code.has_value(); });
  CHECK(watcher.code == 65);
  CHECK(watcher.why.code == ps_errc::job_mismatch);
  CHECK_THAT(watcher.why.where, ContainsSubstring("/job:ps/task:"));
  cluster.finish();
}

TEST_CASE("LookClient: the ninth onlooker waits until another one has gone", "[ps]") {
  LookedCluster cluster{200};
  cluster.train_to(10);
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
  cluster.finish();
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
  asio::io_context of_worker{1};
  std::optional<Server> server{std::in_place, pool, looked_cluster({"127.0.0.1:0"}), "ps", 0U};
  const std::uint16_t port = server->port();
  const Job job = loopback_job::make(1, 1, 60);
  loopback_job::Worker worker{of_worker, job, 0, {{"127.0.0.1", port}}};
  Step at = 0;
  worker.at_step = [&](Step step) { at = step; };
  support::run_until(of_worker, [&] { return at == 30; });
  Watcher watcher{context, job, {{"127.0.0.1", port}}};
  const auto sees = [&](Step step) { return !watcher.seen.empty() && watcher.seen.rbegin()->first >= step; };
  support::run_until(context, [&] { return sees(29); });
  server.reset();
  support::run_until(context, [&] { return watcher.troubles != 0; });
  server.emplace(pool, looked_cluster({"127.0.0.1:" + std::to_string(port)}), "ps", 0U);
  support::run_until(of_worker, [&] { return at == 45; });  // the worker sends again what the server has lost
  support::run_until(context, [&] { return sees(44); });
  support::run_until(of_worker, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
}
