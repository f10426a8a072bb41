// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/worker_client.hpp>

#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/server/server.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

using namespace distrib;
using namespace std::chrono_literals;
using loopback_job::Worker;

namespace {

auto cluster_of(std::uint16_t port) -> ClusterSpec {
  return {{"ps", {"127.0.0.1:" + std::to_string(port)}}, {"worker", {"127.0.0.1:1"}}};
}

auto count(const std::vector<Event>& events, Event::Kind kind) -> std::size_t {
  return static_cast<std::size_t>(std::ranges::count(events, kind, &Event::kind));
}

// Returns a port on which no process listens.
auto free_port(asio::io_context& context) -> std::uint16_t {
  return support::Acceptor{context, support::loopback()}.local_endpoint().port();
}

}  // namespace

TEST_CASE("WorkerClientOptions: a server is lost permanently after the same time as a rank", "[ps]") {
  const ShardOptions shard;
  CHECK(WorkerClientOptions{}.lost_after == shard.lease + shard.restart_window);
}

TEST_CASE("WorkerClient: refuses a job whose shards have larger values than a message may have", "[ps]") {
  asio::io_context context{1};
  const Job job = loopback_job::make(2, 1);  // 128 and 384 bytes
  WorkerClientOptions options;
  const auto refused = [&] {
    Error error;
    try {
      const Worker worker{context, job, 0, {{"127.0.0.1", 1}, {"127.0.0.1", 2}}, options};
    } catch (const std::system_error& thrown) {
      error = error_of(thrown);
    }
    return error;
  };
  options.rpc.limits.body_bytes = 384;
  CHECK_FALSE(refused());
  options.rpc.limits.body_bytes = 383;
  CHECK(refused().code == ps_errc::shard_too_large);
  CHECK(refused().where == "shard 1: 384 bytes, allowed are 383");
  Job large = job;
  large.variables[1].shape = Shape{std::int64_t{1} << 26};
  large.parts[2].slice = Slice::whole(large.variables[1].shape);
  CHECK_THROWS_WITH((Worker{context, large, 0, {{"127.0.0.1", 1}, {"127.0.0.1", 2}}}),
                    ContainsSubstring("shard 1: 268435712 bytes, allowed are 268435456"));
}

TEST_CASE("WorkerClient: names a server that is never started", "[ps]") {
  asio::io_context context{1};
  const std::uint16_t port = free_port(context);
  WorkerClientOptions options;
  options.start_within = 100ms;
  Worker worker{context, loopback_job::make(1, 1), 0, {{"127.0.0.1", port}}, options};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 1);
  CHECK(worker.end.why.code == net_errc::refused);
  CHECK(worker.end.why.where == "/job:ps/task:0 at 127.0.0.1:" + std::to_string(port));
}

TEST_CASE("WorkerClient: names a server whose host name does not resolve", "[ps]") {
  asio::io_context context{1};
  WorkerClientOptions options;
  options.start_within = 100ms;
  Worker worker{context, loopback_job::make(1, 1), 0, {{"no-such-host.invalid", 7000}}, options};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 1);
  CHECK(worker.end.why.where == "/job:ps/task:0 at no-such-host.invalid:7000");
}

TEST_CASE("WorkerClient: finds a server that is started late", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  const std::uint16_t port = free_port(context);
  Worker worker{context, loopback_job::make(1, 1), 0, {{"127.0.0.1", port}}};
  context.run_for(80ms);
  Server server{pool, cluster_of(port), "ps", 0};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
}

TEST_CASE("WorkerClient: tells how many bytes it keeps to send again, and none when it has ended", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  Server server{pool, cluster_of(0), "ps", 0};
  const Job job = loopback_job::make(1, 1, 30);
  const std::size_t contribution = shard_layouts(job).front().wire_block_bytes();
  std::int64_t kept = 0, most = 0;
  WorkerClientOptions options;
  options.replay_changed = [&](std::int64_t change) { most = std::max(most, kept += change); };
  Worker worker{context, job, 0, {{"127.0.0.1", server.port()}}, options};
  std::int64_t in_step_3 = 0;
  worker.at_step = [&](Step step) {
    if (step == 3) in_step_3 = kept;  // no cut is made before step 4
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(std::cmp_equal(in_step_3, 2 * contribution));
  CHECK(std::cmp_greater_equal(most, 4 * contribution));
  CHECK(kept == 0);
}

TEST_CASE("WorkerClient: waits for a server that dies, and loses nothing that counts", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  const auto run = [&](Step dies_at) {
    std::optional<Server> server{std::in_place, pool, cluster_of(0), "ps", 0U};
    const std::uint16_t port = server->port();
    Worker worker{context, loopback_job::make(1, 1, 30), 0, {{"127.0.0.1", port}}};
    worker.at_step = [&](Step step) {
      if (step != dies_at) return;
      worker.at_step = nullptr;
      server.reset();
    };
    worker.heard = [&](const Event& event) {
      if (event.kind == Event::Kind::lost) server.emplace(pool, cluster_of(port), "ps", 0U);
    };
    support::run_until(context, [&] { return worker.is_over; });
    CHECK(worker.end.code == 0);
    CHECK(count(worker.events, Event::Kind::lost) == (dies_at == 0 ? 0 : 1));
    CHECK(count(worker.events, Event::Kind::connected) == (dies_at == 0 ? 0 : 1));
    return loopback_job::hash_of(worker.end.result);
  };
  CHECK(run(11) == run(0));
}

TEST_CASE("WorkerClient: a server that does not come back is lost permanently", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  std::optional<Server> server{std::in_place, pool, cluster_of(0), "ps", 0U};
  WorkerClientOptions options;
  options.lost_after = 100ms;
  Worker worker{context, loopback_job::make(1, 1, 30), 0, {{"127.0.0.1", server->port()}}, options};
  worker.at_step = [&](Step step) {
    if (step == 5) server.reset();
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 70);
  CHECK(worker.end.why.where.starts_with("/job:ps/task:0 at "));
}

TEST_CASE("WorkerClient: asked to stop, it finishes the contribution being computed and leaves", "[ps]") {
  IoPool pool{1};
  Server server{pool, cluster_of(0), "ps", 0};
  asio::io_context context{1};
  {
    Worker worker{context, loopback_job::make(1, 1, 30), 0, {{"127.0.0.1", server.port()}}};
    worker.at_step = [&](Step step) {
      if (step == 5) worker.client->stop();
    };
    support::run_until(context, [&] { return worker.is_over; });
    CHECK(worker.end.code == 1);
    CHECK_FALSE(worker.end.why);
  }
  Worker again{context, loopback_job::make(1, 1, 30), 0, {{"127.0.0.1", server.port()}}};
  Step first = 0;
  again.at_step = [&](Step step) {
    if (first == 0) first = step;
  };
  support::run_until(context, [&] { return again.is_over; });
  CHECK(first == 6);
  CHECK(again.end.code == 0);
}

TEST_CASE("WorkerClient: two processes of one rank do no harm", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  const auto run = [&](bool twice) {
    Server server{pool, cluster_of(0), "ps", 0};
    const Job job = loopback_job::make(1, 1, 30);
    WorkerClientOptions options;
    options.goodbye_within = 300ms;  // the server may have ended before one of the two gets the last notice
    Worker worker{context, job, 0, {{"127.0.0.1", server.port()}}, options};
    std::optional<Worker> zombie;
    if (twice) zombie.emplace(context, job, 0, std::vector{Address{"127.0.0.1", server.port()}}, options);
    support::run_until(context, [&] { return worker.is_over && (!zombie || zombie->is_over); });
    const Worker& first = worker.end.code == 0 ? worker : *zombie;
    CHECK(first.end.code == 0);
    if (zombie) CHECK(worker.end.code + zombie->end.code <= 1);
    return loopback_job::hash_of(first.end.result);
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("WorkerClient: the longest times mean for ever", "[ps]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  IoPool pool{1};
  asio::io_context context{1};
  std::optional<Server> server;
  const std::uint16_t port = free_port(context);
  WorkerClientOptions options;
  options.start_within = options.lost_after = options.goodbye_within = for_ever;
  Worker worker{context, loopback_job::make(1, 1, 30), 0, {{"127.0.0.1", port}}, options};
  context.run_for(80ms);
  CHECK_FALSE(worker.is_over);
  server.emplace(pool, cluster_of(port), "ps", 0U);
  worker.at_step = [&](Step step) {
    if (step != 11) return;
    worker.at_step = nullptr;
    server.reset();
  };
  worker.heard = [&](const Event& event) {
    if (event.kind == Event::Kind::lost) server.emplace(pool, cluster_of(port), "ps", 0U);
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(worker.end.result.size() == 1);
}

TEST_CASE("WorkerClient: with replicas the longest times mean for ever, too", "[ps]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  IoPool pool{1};
  asio::io_context context{1};
  Job job = loopback_job::make(2, 1, 1'000'000);
  job.replicas = 2;
  const std::string address = "127.0.0.1:" + std::to_string(free_port(context));
  Server server{pool, {{"ps", {"127.0.0.1:0", address}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0};
  WorkerClientOptions options;
  options.start_within = 100ms;  // for the other server, which is never started
  options.lost_after = for_ever;
  Worker worker{context, job, 0, {{"127.0.0.1", server.port()}, Address::parse(address)}, options};
  context.run_for(500ms);
  CHECK_FALSE(worker.is_over);
  worker.client->stop();
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 1);
  CHECK_FALSE(worker.end.why);
}
