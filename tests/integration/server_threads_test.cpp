// SPDX-License-Identifier: Apache-2.0
// Shards of a parameter server on several threads of its pool: slow greetings, connections that come and go, and an end
// at any moment.
#include <distrib/ps/server/server.hpp>

#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include "ps/exposition.hpp"
#include "ps/loopback_job.hpp"
#include "rpc/loopback.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback_job::Worker;

namespace {

constexpr std::uint32_t task_shards = 4;

auto cluster_of(std::size_t workers, std::uint16_t port = 0) -> ClusterSpec {
  return {{"ps", {"127.0.0.1:" + std::to_string(port)}}, {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
}

/// Returns the job of one task with four shards, each with a part of a variable.
auto job_of(Rank ranks, Step steps = 12) -> Job {
  Job job = loopback_job::make(1, ranks, steps);
  job.shards_per_task = task_shards;
  job.parts = {{0, Slice::along({6, 16}, 0, 0, 2), 0},
               {0, Slice::along({6, 16}, 0, 2, 2), 1},
               {0, Slice::along({6, 16}, 0, 4, 2), 2},
               {1, Slice::whole({32}), 3}};
  return job;
}

auto code_of(Server& server) -> int {
  std::promise<int> ended;
  server.async_join([&ended](int code) { ended.set_value(code); });
  auto code = ended.get_future();
  REQUIRE(code.wait_for(20s) == std::future_status::ready);
  return code.get();
}

/// The answer of a shard to a request for its status, which `ask` sends over a new connection.
struct Asked {
  std::error_code code;
  std::string text;
  ShardStatus status;
};
auto ask(std::uint16_t port, std::uint32_t shard, const SharedSecret& secret = {}) -> Asked {
  asio::io_context context{1};
  RpcClientOptions options;
  options.service = shard;
  options.categories = ps_categories();
  options.secret = secret;
  std::optional<Error> end;
  RpcClient client{loopback::connect(context, port), options, [&end](const Error& why) { end = why; }};
  Asked asked;
  bool is_over = false;
  client.async_call<Status>({}, {20s, {}, &asked.text}, [&](const std::error_code& ec, ShardStatus status) {
    asked.code = ec;
    asked.status = std::move(status);
    is_over = true;
  });
  support::run_until(context, [&] { return is_over; });
  if (asked.code == rpc_errc::not_sent) {
    support::run_until(context, [&] { return end.has_value(); });
    asked.code = end->code;
  }
  return asked;
}

auto status_of(std::uint16_t port, std::uint32_t shard) -> ShardStatus {
  Asked asked = ask(port, shard);
  CHECK_FALSE(asked.code);
  return std::move(asked.status);
}

}  // namespace

TEST_CASE("Server: each shard on a thread of its own, with the same bits on any number of threads", "[integration]") {
  const Job job = job_of(2);
  std::set<std::string> results;
  for (const std::size_t threads : {1UL, 2UL, 3UL, 5UL, 7UL}) {
    CAPTURE(threads);
    IoPool pool{threads};
    std::mutex mutex;
    std::set<std::thread::id> seen;
    const UpdaterFinder notes_thread = [&](std::string_view text) {
      const std::scoped_lock lock{mutex};
      seen.insert(std::this_thread::get_id());
      return StandardUpdaters{}(text);
    };
    Server server{pool, cluster_of(2), "ps", 0, notes_thread};
    asio::io_context context{1};
    std::vector<std::unique_ptr<Worker>> workers;
    for (Rank rank = 0; rank < 2; ++rank)
      workers.push_back(std::make_unique<Worker>(context, job, rank, std::vector{Address{"127.0.0.1", server.port()}}));
    std::vector<ShardStatus> middle;
    workers[0]->at_step = [&](Step step) {
      if (step != 7) return;
      for (std::uint32_t s = 0; s < task_shards; ++s) middle.push_back(status_of(server.port(), s));
      const Asked beyond = ask(server.port(), task_shards);
      CHECK(beyond.code == rpc_errc::unknown_service);
      CHECK(beyond.text.find("shard 4 of /job:ps/task:0") != std::string::npos);
    };
    for (const auto& worker : workers) support::run_until(context, [&] { return worker->is_over; });
    CHECK(workers[0]->end.code == 0);
    CHECK(workers[1]->end.code == 0);
    CHECK(workers[0]->durable == job.total_steps);
    CHECK(workers[0]->end.result.size() == task_shards);
    results.insert(loopback_job::hash_of(workers[0]->end.result));
    CHECK(code_of(server) == 0);
    CHECK(seen.size() == std::clamp<std::size_t>(threads - 1, 1, task_shards));
    REQUIRE(middle.size() == task_shards);
    for (std::uint32_t s = 0; s < task_shards; ++s) {
      CHECK(middle[s].shard == s);
      CHECK(middle[s].step == 6);
      CHECK(middle[s].shards == task_shards);
      CHECK(middle[s].job_hash == to_hex(job_hash(job)));
      CHECK(middle[s].push_times.count() == middle[s].pushes);
      CHECK(middle[s].pull_times.count() == middle[s].pulls);
      CHECK(middle[s].pull_times.max() > 0ns);
      CHECK(middle[s].pull_times.max() < 1h);  // start and end are measured by the same clock
    }
  }
  CHECK(results.size() == 1);
}

TEST_CASE("Server: with shards on threads, asked to stop and started again: the same bits", "[integration]") {
  const Job job = job_of(1, 40);
  asio::io_context context{1};
  const auto run = [&](const std::string& directory, Step stop_at) -> std::string {
    IoPool pool{5};
    std::optional<Server> server{std::in_place, pool, cluster_of(1), "ps", 0U};
    const std::uint16_t port = server->port();
    Worker worker{context, job, 0, {{"127.0.0.1", port}}, {}, {directory, 8, {.max_to_keep = 5}}};
    worker.at_step = [&](Step step) {
      if (step != stop_at) return;
      worker.at_step = nullptr;
      server->stop();
      CHECK(code_of(*server) == 1);
      server.reset();
      ServerOptions options;
      options.directory = directory;
      server.emplace(pool, cluster_of(1, port), "ps", 0U, StandardUpdaters{}, options);
    };
    support::run_until(context, [&] { return worker.is_over; });
    CHECK(worker.end.code == 0);
    CHECK(code_of(*server) == 0);
    return loopback_job::hash_of(worker.end.result);
  };
  const std::string undisturbed = run({}, 0);
  const support::TempDirectory directory;
  CHECK(run((directory / "once").string(), 0) == undisturbed);
  CHECK(run((directory / "twice").string(), 17) == undisturbed);
}

TEST_CASE("Server: asked to stop while some shards have no job", "[integration]") {
  IoPool pool{3};
  Server server{pool, cluster_of(1), "ps", 0};
  for (std::uint32_t s = 0; s < task_shards; ++s) CHECK(status_of(server.port(), s).shards == 0);
  server.stop();
  CHECK(code_of(server) == 1);
  CHECK_FALSE(server.why());
}

TEST_CASE("Server: a greeting that arrives byte by byte, followed by a call, reaches its shard", "[integration]") {
  IoPool pool{3};
  Server server{pool, cluster_of(1), "ps", 0};
  asio::io_context context{1};
  const Instant now = std::chrono::steady_clock::now();
  for (std::uint32_t shard = 0; shard < task_shards; ++shard)
    for (const std::size_t piece : {1UL, 3UL, 1000UL}) {
      RpcClientOptions options;
      options.service = shard;
      ClientCore core{options, now};
      static_cast<void>(core.call(Status::id, {}, {}, {}, now));
      const stream::Bytes bytes = stream::take_output(core, now);
      TcpSocket socket = loopback::connect(context, server.port());
      socket.set_option(asio::ip::tcp::no_delay{true});
      for (std::size_t at = 0; at < bytes.size(); at += piece)
        asio::write(socket, asio::buffer(bytes.data() + at, std::min(piece, bytes.size() - at)));
      std::optional<ShardStatus> status;
      std::array<std::byte, 4096> answer{};
      while (!status) {
        const std::size_t count = socket.read_some(asio::buffer(answer));
        for (std::size_t at = 0; at < count;)
          at += stream::give(core, ByteView{answer}.subspan(at, count - at), count, now);
        for (ClientEvent event; core.next(now, event);) {
          REQUIRE(event.kind != ClientEvent::Kind::failed);
          if (event.kind == ClientEvent::Kind::reply) REQUIRE(status.emplace().decode(event.head));
        }
        core.keep();
      }
      CHECK(status->shard == shard);
    }
}

TEST_CASE("Server: a bad greeting ends only its own connection", "[integration]") {
  IoPool pool{3};
  ServerOptions options;
  options.rpc.greeting_within = 100ms;
  options.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes ok"));
  Server server{pool, cluster_of(1), "ps", 0, StandardUpdaters{}, options};
  asio::io_context context{1};
  const Instant now = std::chrono::steady_clock::now();
  const auto greeting_for = [&](std::uint32_t shard) {
    RpcClientOptions how;
    how.service = shard;
    how.secret = options.rpc.secret;
    ClientCore core{how, now, draw_nonce()};
    return stream::take_output(core, now);
  };
  const auto answer_to = [&](const stream::Bytes& bytes) -> std::string {
    TcpSocket socket = loopback::connect(context, server.port());
    asio::write(socket, asio::buffer(bytes.data(), bytes.size()));
    return support::SocketPair::read_all(socket);  // until the server closes the connection
  };

  SECTION("greetings that stop after any byte") {
    const stream::Bytes whole = greeting_for(1);
    std::vector<TcpSocket> silent;
    for (std::size_t size = 0; size < whole.size(); size += 5) {
      silent.push_back(loopback::connect(context, server.port()));
      asio::write(silent.back(), asio::buffer(whole.data(), size));
    }
    for (TcpSocket& socket : silent) CHECK(support::SocketPair::read_all(socket).empty());
  }
  SECTION("a greeting whose proof never comes") {
    const std::string answer = answer_to(greeting_for(1));
    CHECK(answer.size() > frame_header_bytes);  // the server's own greeting
  }
  SECTION("greetings that are too long") {
    FrameHeader header{FrameKind::greeting};
    const auto long_head = [&](std::uint32_t head_bytes) {
      stream::Bytes bytes(frame_header_bytes + head_bytes + frame_checksum_bytes);
      encode_frame_header(header, head_bytes, 0, bytes.data());
      return bytes;
    };
    CHECK(answer_to(long_head(5'000)).empty());
    CHECK(answer_to(long_head(1U << 20)).empty());
  }
  SECTION("greetings with another version, an unknown service, another secret") {
    stream::Bytes later = greeting_for(0);
    later[4] = std::byte{9};
    store_le(later.data() + 28, crc32c(ByteView{later}.first(28)));
    CHECK(answer_to(later).empty());
    CHECK(ask(server.port(), 256, options.rpc.secret).code == rpc_errc::unknown_service);
    for (std::uint32_t s = 0; s < task_shards; ++s) {
      CHECK(ask(server.port(), s, SharedSecret::from_bytes(as_bytes("sixteen bytes no"))).code ==
            rpc_errc::unauthorized);
      CHECK(ask(server.port(), s).code == rpc_errc::unauthorized);
    }
  }
  for (std::uint32_t s = 0; s < task_shards; ++s) {  // other connections are served
    const Asked asked = ask(server.port(), s, options.rpc.secret);
    CHECK_FALSE(asked.code);
    CHECK(asked.status.shard == s);
  }
}

TEST_CASE("Server: connections to all shards come and go during training and status requests", "[integration]") {
  const Job job = job_of(2, 60);
  ServerOptions options;
  options.metrics = Address{"127.0.0.1", 0};
  IoPool pool{4};
  Server server{pool, cluster_of(2), "ps", 0, StandardUpdaters{}, options};
  const std::uint16_t port = server.port();
  std::atomic<bool> trained = false;

  const auto come_and_go = [&](std::uint32_t first) {
    asio::io_context context{1};
    const Instant now = std::chrono::steady_clock::now();
    for (std::uint32_t i = first; !trained; ++i) {
      RpcClientOptions how;
      how.service = i % task_shards;
      ClientCore core{how, now};
      static_cast<void>(core.call(Status::id, {}, {}, {}, now));
      const stream::Bytes bytes = stream::take_output(core, now);
      std::error_code gone;  // the server may have ended already
      TcpSocket socket{context.get_executor()};
      socket.connect({asio::ip::address_v4::loopback(), port}, gone);
      if (!gone) asio::write(socket, asio::buffer(bytes.data(), i * 7 % (bytes.size() + 1)), gone);
      if (i % 3 == 0) continue;  // disconnects at once, with the answer on its way
      socket.shutdown(TcpSocket::shutdown_send, gone);
      std::string rest;
      asio::read(socket, asio::dynamic_buffer(rest), gone);  // reads everything
    }
  };
  const auto look = [&] {
    asio::io_context context{1};
    std::size_t seen = 0;
    while (!trained) {
      std::error_code gone;
      TcpSocket socket{context.get_executor()};
      socket.connect({asio::ip::address_v4::loopback(), server.metrics_port()}, gone);
      if (!gone) asio::write(socket, asio::buffer(std::string{"GET /metrics HTTP/1.0\r\n\r\n"}), gone);
      std::string text;
      if (!gone) asio::read(socket, asio::dynamic_buffer(text), gone);
      const std::size_t head_end = text.find("\r\n\r\n");
      if (head_end != std::string::npos && exposition::read(text.substr(head_end + 4))) ++seen;
    }
    return seen;
  };
  std::vector<std::future<void>> strangers;
  for (std::uint32_t s = 0; s < 2; ++s) strangers.push_back(std::async(std::launch::async, come_and_go, s));
  auto looks = std::async(std::launch::async, look);

  asio::io_context context{1};
  std::vector<std::unique_ptr<Worker>> workers;
  for (Rank rank = 0; rank < 2; ++rank)
    workers.push_back(std::make_unique<Worker>(context, job, rank, std::vector{Address{"127.0.0.1", port}}));
  Step last = 0;
  workers[0]->at_step = [&](Step step) {
    for (std::uint32_t s = 0; s < task_shards; ++s) {
      const ShardStatus status = status_of(port, s);
      CHECK(status.step + 1 >= step);
      CHECK(status.of_ranks.size() == 2);
    }
    last = step;
  };
  for (const auto& worker : workers) support::run_until(context, [&] { return worker->is_over; });
  trained = true;
  for (auto& stranger : strangers) stranger.get();
  CHECK(looks.get() != 0);
  CHECK(last == job.total_steps);
  CHECK(workers[0]->end.code == 0);
  CHECK(workers[1]->end.code == 0);
  CHECK(code_of(server) == 0);
}

TEST_CASE("Server: destroyed many times, with unfinished greetings and shards at work", "[integration]") {
  std::optional<IoPool> pool{std::in_place, 4U};
  const support::TempDirectory directory;
  for (int round = 0; round < 20; ++round) {
    asio::io_context context{1};
    ServerOptions options;
    options.metrics = Address{"127.0.0.1", 0};
    if (round % 2 == 0) options.directory = (directory / std::to_string(round)).string();
    std::optional<Server> server{std::in_place, *pool, cluster_of(1), "ps", 0U, StandardUpdaters{}, options};
    const std::uint16_t port = server->port();
    std::vector<TcpSocket> open;
    const Instant now = std::chrono::steady_clock::now();
    for (std::uint32_t i = 0; i < 12; ++i) {
      RpcClientOptions how;
      how.service = i % task_shards;
      ClientCore core{how, now};
      static_cast<void>(core.call(Status::id, {}, {}, {}, now));
      const stream::Bytes bytes = stream::take_output(core, now);
      open.push_back(loopback::connect(context, port));
      asio::write(open.back(), asio::buffer(bytes.data(), bytes.size() - (i % 4 == 0 ? 0 : i * 5)));
    }
    open.push_back(loopback::connect(context, server->metrics_port()));
    asio::write(open.back(), asio::buffer(std::string{"GET /metrics HTTP/1.0\r\n\r\n"}));
    Worker worker{context, job_of(1, 40), 0, {{"127.0.0.1", port}}};
    Step reached = 0;
    worker.at_step = [&](Step step) { reached = step; };
    support::run_until(context, [&] { return reached >= static_cast<Step>(round % 7); });
    if (round % 5 == 4) server->stop();
    if (round == 19) pool->stop();
    server.reset();
    worker.client->stop();
    support::run_until(context, [&] { return worker.is_over; });
  }
}
