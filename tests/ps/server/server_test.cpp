// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/server.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/net/async_connect.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/worker/ask_status.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include "ps/exposition.hpp"
#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <nlohmann/json.hpp>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback_job::Worker;

namespace {

const std::vector<std::string> two{"127.0.0.1:0", "127.0.0.1:0"};

auto cluster_of(const std::vector<std::string>& ps, std::size_t workers) -> ClusterSpec {
  return {{"ps", ps}, {"worker", std::vector<std::string>(workers, "127.0.0.1:1")}};
}

template <class... Servers>
auto addresses(const Servers&... servers) -> std::vector<Address> {
  return {Address{"127.0.0.1", servers.port()}...};
}

// Returns the exit code of a server that is about to end.
template <class ServerType>
auto code_of(ServerType& server) -> int {
  std::promise<int> ended;
  server.async_join([&ended](int code) { ended.set_value(code); });
  auto code = ended.get_future();
  REQUIRE(code.wait_for(20s) == std::future_status::ready);
  return code.get();
}

void train(asio::io_context& context, std::vector<std::unique_ptr<Worker>>& workers) {
  for (const auto& worker : workers) support::run_until(context, [&] { return worker->is_over; });
}

}  // namespace

TEST_CASE("Server: two servers and two workers train to the end", "[ps]") {
  IoPool pool{2};
  const ClusterSpec cluster = cluster_of(two, 2);
  Server first{pool, cluster, "ps", 0};
  Server second{pool, cluster, "ps", 1};
  CHECK(first.port() != 0);

  asio::io_context context{1};
  const Job job = loopback_job::make(2, 2);
  std::vector<std::unique_ptr<Worker>> workers;
  for (Rank rank = 0; rank < 2; ++rank)
    workers.push_back(std::make_unique<Worker>(context, job, rank, addresses(first, second)));
  train(context, workers);
  CHECK(workers[0]->end.code == 0);
  CHECK(workers[0]->end.result.size() == 2);
  CHECK(workers[0]->durable == job.total_steps);
  CHECK(workers[1]->end.code == 0);
  CHECK(workers[1]->end.result.empty());
  CHECK(code_of(first) == 0);
  CHECK(code_of(second) == 0);
  CHECK_FALSE(first.why());
}

TEST_CASE("Server: accepts the IPv6 address of a Service of Kubernetes, and refuses it without brackets", "[ps]") {
  IoPool pool{2};
  const auto serve = [&pool](const std::string& address) -> std::error_code {
    try {
      const Server server{pool, cluster_of({address}, 1), "ps", 0};
    } catch (const std::system_error& error) {
      return error.code();
    }
    return {};
  };
  // This machine may not have these addresses. Then the system refuses them, but they are correct addresses.
  const ClusterSpec services = cluster_of_services({{"a-b-ps-0", "2001:db8::5"}, {"a-b-ps-1", "2001:db8::1:2:3"}});
  for (const std::string& address : {std::string{services.task_address("ps", 0)},
                                     std::string{services.task_address("ps", 1)}, std::string{"[::1]:0"}}) {
    CAPTURE(address);
    CHECK(serve(address) != net_errc::bad_address);
  }
  for (const char* const address : {"2001:db8::5:5000", "::1:0", "[2001:db8::5]5000", "[2001:db8::5]"}) {
    CAPTURE(address);
    CHECK(serve(address) == net_errc::bad_address);
  }
}

TEST_CASE("Server: the thread of files has a lower priority than the threads of shards", "[ps]") {
  for (const std::size_t threads : {1U, 3U}) {
    IoPool pool{threads};
    const Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0};
    const Server another{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0};
    for (std::size_t thread = 0; thread < threads; ++thread) {
      int policy = -1;
      int nicer = -1;
      detail::run_on(pool, thread, [&] {
        policy = ::sched_getscheduler(0);
        nicer = ::getpriority(PRIO_PROCESS, 0);
      });
      const bool is_of_files = thread > 0 && thread == threads - 1;
      CAPTURE(threads, thread);
      CHECK(policy == (is_of_files ? SCHED_BATCH : ::sched_getscheduler(::getpid())));
      CHECK(nicer - ::getpriority(PRIO_PROCESS, static_cast<::id_t>(::getpid())) == (is_of_files ? 5 : 0));
    }
  }
}

TEST_CASE("Server: stopped in the middle and started again, the job has the same bits", "[ps]") {
  const Job job = loopback_job::make(1, 1, 40);
  IoPool pool{2};
  asio::io_context context{1};
  const auto run = [&](const std::string& directory, Step stop_at) -> std::string {
    std::optional<Server> server{std::in_place, pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0U};
    const auto to = addresses(*server);
    Worker worker{context, job, 0, to, {}, {directory, 8, {.max_to_keep = 5}}};
    worker.at_step = [&](Step step) {
      if (step != stop_at) return;
      worker.at_step = nullptr;
      server->stop();
      CHECK(code_of(*server) == 1);
      server.reset();  // another process of the task replaces it
      ServerOptions options;
      options.directory = directory;
      server.emplace(pool, ClusterSpec{{"ps", {to.front().to_string()}}, {"worker", {"127.0.0.1:1"}}}, "ps", 0U,
                     StandardUpdaters{}, options);
    };
    support::run_until(context, [&] { return worker.is_over; });
    CHECK(worker.end.code == 0);
    CHECK(code_of(*server) == 0);
    return loopback_job::hash_of(worker.end.result);
  };
  const support::TempDirectory directory;
  const std::string undisturbed = run({}, 0);
  CHECK(run((directory / "once").string(), 0) == undisturbed);
  CHECK(run((directory / "twice").string(), 17) == undisturbed);
}

TEST_CASE("Server: refuses a client without its secret at once, and trains with the others", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  const Job job = loopback_job::make(1, 1);
  ServerOptions options;
  options.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes ok"));
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
  WorkerClientOptions how;
  for (const bool other : {false, true}) {
    if (other) how.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes no"));
    Worker stranger{context, job, 0, addresses(server), how};
    support::run_until(context, [&] { return stranger.is_over; });
    CHECK(stranger.end.code == 65);
    CHECK(stranger.end.why.code == rpc_errc::unauthorized);
    CHECK(stranger.end.why.where.starts_with("/job:ps/task:0 at 127.0.0.1:"));
  }
  how.rpc.secret = options.rpc.secret;
  Worker worker{context, job, 0, addresses(server), how};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(code_of(server) == 0);
}

TEST_CASE("Server: what it refuses, and the texts that say why", "[ps]") {
  IoPool pool{1};
  asio::io_context context{1};
  const auto refused = [&](auto& server, const Job& job) -> Error {
    Worker worker{context, job, 0, addresses(server)};
    support::run_until(context, [&] { return worker.is_over; });
    CHECK(worker.end.code == 65);
    return worker.end.why;
  };
  const ClusterSpec cluster = cluster_of({"127.0.0.1:0"}, 2);
  Server server{pool, cluster, "ps", 0};

  SECTION("a job of another cluster") {
    const Error error = refused(server, loopback_job::make(1, 3));
    CHECK(error.code == ps_errc::job_mismatch);
    CHECK(error.where == "shard 0: the job has 3 workers, this cluster 2");
  }
  SECTION("an updater that it does not have") {
    Job job = loopback_job::make(1, 2);
    job.updater = "magic strength=3";
    CHECK(refused(server, job).code == ps_errc::unknown_updater);
  }
  SECTION("a second job") {
    Worker first{context, loopback_job::make(1, 2), 0, addresses(server)};
    Job other = loopback_job::make(1, 2);
    other.seed = 6;
    bool joined = false;
    first.at_step = [&](Step) { joined = true; };
    support::run_until(context, [&] { return joined; });
    const Error error = refused(server, other);
    CHECK(error.code == ps_errc::job_mismatch);
    CHECK(error.where.find("'seed 6'") != std::string::npos);
    first.client->stop();
    support::run_until(context, [&] { return first.is_over; });
  }
  SECTION("a job that needs too much memory") {
    ServerOptions options;
    options.shard.memory_budget_bytes = 100;
    Server small{pool, cluster, "ps", 0, StandardUpdaters{}, options};
    CHECK(refused(small, loopback_job::make(1, 2)).code == ps_errc::too_large);
  }
  SECTION("a directory that cannot be written") {
    ServerOptions options;
    options.directory = "/dev/null/cuts";
    Server blind{pool, cluster, "ps", 0, StandardUpdaters{}, options};
    const Error error = refused(blind, loopback_job::make(1, 2));
    CHECK(error.where.find("/dev/null/cuts") != std::string::npos);
  }
}

TEST_CASE("Server: shows a page of metrics before the job and during it", "[ps]") {
  ServerOptions options;
  options.metrics = Address{"127.0.0.1", 0};
  IoPool pool{2};
  const Job job = loopback_job::make(1, 1);
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
  CHECK(Server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0}.metrics_port() == 0);
  asio::io_context context{1};
  const auto ask = [&](const std::string& request) -> std::string {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), server.metrics_port()});
    asio::write(socket, asio::buffer(request));
    return support::SocketPair::read_all(socket);
  };
  const auto look = [&]() -> exposition::Samples {
    const std::string answer = ask("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    const auto samples = exposition::read(answer.substr(answer.find("\r\n\r\n") + 4));
    REQUIRE(samples);
    return *samples;
  };
  const std::string of = "{task=\"0\",shard=\"0\"}";
  exposition::Samples seen;
  for (seen = look(); !seen.contains("distrib_ps_open" + of); seen = look()) {
  }  // the shard starts on a thread of the pool
  CHECK(seen.at("distrib_ps_open" + of) == 0);
  CHECK(ask("GET /other HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
  CHECK_THAT(ask("GET / HTTP/1.0\r\n\r\n"), ContainsSubstring("\r\n\r\n<!doctype html>"));
  CHECK_THAT(ask("GET /status.json HTTP/1.0\r\n\r\n"),
             ContainsSubstring("\r\n\r\n{\"shards\":[{\"task\":0,\"shard\":0,"));
  CHECK(ask("\n\n").starts_with("HTTP/1.1 400 "));
  {
    std::vector<TcpSocket> silent;  // as many visitors as are allowed; further ones are disconnected
    for (int i = 0; i < 16; ++i) {
      silent.emplace_back(context.get_executor());
      silent.back().connect({asio::ip::address_v4::loopback(), server.metrics_port()});
    }
    TcpSocket one_more{context.get_executor()};
    one_more.connect({asio::ip::address_v4::loopback(), server.metrics_port()});
    CHECK(support::SocketPair::read_all(one_more).empty());
    for (TcpSocket& socket : silent) {
      socket.shutdown(TcpSocket::shutdown_send);
      CHECK(support::SocketPair::read_all(socket).empty());
    }
  }

  Worker worker{context, job, 0, addresses(server)};
  worker.at_step = [&](Step step) {
    if (step != 7) return;
    worker.at_step = nullptr;
    seen = look();
  };
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(seen.at("distrib_ps_step" + of) == 6);
  CHECK(seen.at("distrib_ps_total_steps" + of) == 12);
  CHECK(seen.at("distrib_ps_pushes_total" + of) == 6);
  CHECK(seen.at("distrib_ps_variables" + of) == 2);
  CHECK(seen.at("distrib_ps_push_seconds_count" + of) == 6);
  CHECK(seen.at("distrib_ps_push_seconds_sum" + of) > 0);
  CHECK(seen.at("distrib_ps_pull_seconds_count" + of) == seen.at("distrib_ps_pulls_total" + of));
  CHECK(seen.at("distrib_ps_rank_here{task=\"0\",shard=\"0\",rank=\"0\"}") == 1);
  CHECK(seen.at("distrib_ps_completions_total" + of) == 6);
  CHECK(seen.at("distrib_ps_completion_seconds_total" + of) > 0);
  CHECK(seen.at("process_open_fds") > 3);
  CHECK(seen.at("process_max_fds") >= seen.at("process_open_fds"));
  CHECK(code_of(server) == 0);
}

TEST_CASE("Server: a running job of ten thousand ranks is shown whole, in less than a megabyte", "[ps]") {
  constexpr Rank ranks = 10'000;
  ServerOptions options;
  options.metrics = Address{"127.0.0.1", 0};
  IoPool pool{2};
  Job job = loopback_job::make(1, ranks);
  job.shards_per_task = 2;
  job.parts.back().shard = 1;
  Server server{pool, cluster_of({"127.0.0.1:0"}, ranks), "ps", 0, StandardUpdaters{}, options};
  asio::io_context context{1};
  Worker worker{context, job, 7'777, addresses(server)};
  std::string page;
  std::vector<distrib::ShardStatus> asked;
  worker.at_step = [&](Step) {  // step 1: the others have not come
    asked = distrib::ask_status(addresses(server).front(), {});
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), server.metrics_port()});
    asio::write(socket, asio::buffer(std::string{"GET /status.json HTTP/1.0\r\n\r\n"}));
    page = support::SocketPair::read_all(socket);
  };
  support::run_until(context, [&] { return !page.empty(); });
  CHECK(page.size() < 1'000'000);
  const auto shards = nlohmann::json::parse(page.substr(page.find("\r\n\r\n") + 4)).at("shards");
  REQUIRE(shards.size() == 2);
  REQUIRE(asked.size() == 2);
  CHECK_FALSE(shards[1].contains("rank_columns"));
  const auto& columns = shards[0].at("rank_columns");
  REQUIRE(asked[0].of_ranks.size() == ranks);
  CHECK(asked[0].vacant == ranks - 1);
  CHECK(shards[0].at("vacant") == ranks - 1);
  for (const char* const name : {"rank", "here", "last", "was_last", "waited_ms"})
    REQUIRE(columns.at(name).size() == ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto& expected = asked[0].of_ranks[rank];
    const bool is_shown = columns["rank"][rank] == expected.rank && columns["last"][rank] == expected.last &&
                          columns["here"][rank] == (rank == 7'777 ? 1 : 0) && expected.here == (rank == 7'777);
    if (!is_shown) FAIL("rank " << rank << " is not shown as it is");
  }
  worker.client->stop();
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 1);
}

TEST_CASE("Server: an address for metrics that is in use is an error", "[ps]") {
  IoPool pool{1};
  Server other{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0};
  ServerOptions options;
  options.metrics = Address{"127.0.0.1", other.port()};
  try {
    Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
    FAIL("two listen on one port");
  } catch (const std::system_error& error) {
    CHECK(error.code() == net_errc::address_in_use);
    CHECK(std::string{error.what()}.find(options.metrics->to_string()) != std::string::npos);
  }
}

TEST_CASE("Server: bytes of another protocol change nothing", "[ps]") {
  IoPool pool{1};
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0};
  asio::io_context context{1};
  const auto shout = [&](const std::string& text) {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), server.port()});
    asio::write(socket, asio::buffer(text));
    CHECK(support::SocketPair::read_all(socket).size() < 200);  // and then it closes the connection
  };
  shout("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  shout(std::string(5000, '\xff'));

  Worker worker{context, loopback_job::make(1, 1), 0, addresses(server)};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(code_of(server) == 0);
}

TEST_CASE("Server: refuses tasks that the cluster does not have, and an address that is in use", "[ps]") {
  IoPool pool{1};
  const ClusterSpec cluster = cluster_of({"127.0.0.1:0"}, 1);
  CHECK_THROWS_AS((Server{pool, cluster, "ps", 1}), std::system_error);
  CHECK_THROWS_AS((Server{pool, cluster, "painter", 0}), std::system_error);
  Server worker{pool, cluster, "worker", 0};
  CHECK(worker.port() == 0);
  CHECK_THROWS_AS(worker.join(), std::system_error);

  Server server{pool, cluster, "ps", 0};
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  try {
    Server again{pool, cluster_of({taken}, 1), "ps", 0};
    FAIL("two servers on one port");
  } catch (const std::system_error& error) {
    CHECK(error.code() == net_errc::address_in_use);
    CHECK(std::string{error.what()}.find(taken) != std::string::npos);
  }
}

TEST_CASE("Server: one checkpoint per n hours is kept beyond max_to_keep", "[ps]") {
  for (const double hours : {0.0, 1e-9}) {  // 1e-9 hours: every checkpoint is preserved
    const support::TempDirectory folder;
    for (const Step last : {8U, 16U, 24U, 32U}) {  // each run continues the one before
      IoPool pool{2};
      Server first{pool, cluster_of(two, 1), "ps", 0};
      Server second{pool, cluster_of(two, 1), "ps", 1};
      asio::io_context context{1};
      Worker worker{context, loopback_job::make(2, 1, last),         0, addresses(first, second),
                    {},      {folder.path().string(), 0, {2, hours}}};
      support::run_until(context, [&] { return worker.is_over; });
      CHECK(worker.end.code == 0);
      CHECK(code_of(first) == 0);
      CHECK(code_of(second) == 0);
    }
    for (const Step step : {8U, 16U, 24U, 32U}) {
      const bool is_there = std::filesystem::exists(folder / ("model.ckpt-" + std::to_string(step) + ".index"));
      CHECK(is_there == (hours != 0 || step >= 24));
      if (is_there) BundleReader::open(folder / ("model.ckpt-" + std::to_string(step))).verify();
    }
  }
}

TEST_CASE("Server: only one process of a task at a time uses the directory of its cuts", "[ps]") {
  const support::TempDirectory folder;
  IoPool pool{2};
  const ClusterSpec cluster = cluster_of(two, 1);
  ServerOptions options;
  options.directory = folder / "not/yet";
  options.lock_within = 50ms;
  const auto start = [&](std::uint32_t index) {
    return std::make_unique<Server>(pool, cluster, "ps", index, StandardUpdaters{}, options);
  };
  auto first = start(0);
  const auto other_task = start(1);
  for (int tries = 0; tries < 2; ++tries) {
    try {
      static_cast<void>(start(0));
      FAIL("two processes of one task");
    } catch (const std::system_error& error) {
      CHECK(error.code() == ps_errc::directory_in_use);
      CHECK_THAT(error.what(), ContainsSubstring("/job:ps/task:0 in " + options.directory + ", held by process " +
                                                 std::to_string(::getpid()) + " on "));
    }
  }

  SECTION("it is free as soon as the other process has ended") {
    options.lock_within = 60s;
    std::thread ends{[&] { first.reset(); }};
    const auto second = start(0);  // waits if the other process has not ended yet
    ends.join();
    CHECK(second->port() != 0);
    options.lock_within = 0ms;
    CHECK_THROWS_AS(start(0), std::system_error);
  }
  SECTION("without locks no process is refused") {
    options.directory = folder / "here";
    std::filesystem::create_directories(folder / "here/.ps-0.lock");  // not a file, so there is no lock
    const auto one = start(0);
    const auto another = start(0);
    CHECK(another->port() != 0);
  }
}

TEST_CASE("Server: a directory that only the job names is locked when the job arrives, and workers continue", "[ps]") {
  const support::TempDirectory folder;
  const Job job = loopback_job::make(1, 1);
  IoPool pool{2};
  asio::io_context context{1};
  ServerOptions options;
  options.directory = folder.path().string();
  const std::vector<std::string> anywhere{"127.0.0.1:0"};
  std::optional<Server> first{std::in_place, pool, cluster_of(anywhere, 1), "ps", 0U, StandardUpdaters{}, options};

  options.directory.clear();
  options.lock_within = 50ms;
  std::optional<Server> second{std::in_place, pool, cluster_of(anywhere, 1), "ps", 0U, StandardUpdaters{}, options};
  const auto to = addresses(*second);
  Worker worker{context, job, 0, to, {}, {folder.path().string(), 4, {.max_to_keep = 5}}};
  std::optional<int> ended;
  second->async_join([&](int code) { asio::post(context, [&ended, code] { ended = code; }); });
  support::run_until(context, [&] { return ended.has_value(); });
  CHECK(*ended == 65);
  CHECK(second->why().code == ps_errc::directory_in_use);
  CHECK_FALSE(worker.is_over);
  for (const auto& file : std::filesystem::directory_iterator{folder.path()})
    CHECK(file.path().filename() == ".ps-0.lock");  // the server has written nothing there

  first.reset();
  second.reset();
  second.emplace(pool, cluster_of({to.front().to_string()}, 1), "ps", 0U, StandardUpdaters{}, options);
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 0);
  CHECK(code_of(*second) == 0);
}

TEST_CASE("Server: ends if no worker connects", "[ps]") {
  IoPool pool{1};
  ServerOptions options;
  options.shard.lease = 20ms;
  options.shard.restart_window = 20ms;
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
  CHECK(code_of(server) == 1);
  CHECK(server.why().code == ps_errc::nobody_joined);
}

TEST_CASE("Server: ends if no worker connects and another process makes the last checkpoint meanwhile", "[ps]") {
  const support::TempDirectory directory;
  IoPool pool{2};
  ServerOptions options;
  options.directory = directory.path().string();
  options.shard.linger = 20ms;
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
  const Job job = loopback_job::make(1, 1, 8);
  const JobUpdaters updaters{Momentum{}};
  Cut cut = initial_cut(job, ShardLayout{job, 0}, updaters);
  cut.step = 8;
  CutStore{{options.directory, 4, {.max_to_keep = 5}}, job, 0, updaters}.save(cut);
  CHECK(code_of(server) == 0);
}

namespace {

/// Joins the two shards of a task as rank 0, then says goodbye to the first one only: a worker that is killed between
/// its goodbyes. Its connections stay open.
struct KilledBetweenGoodbyes {
  KilledBetweenGoodbyes(asio::io_context& context, const Address& server, const Job& job, const CutSettings& cuts) {
    request.job_hash = to_hex(job_hash(job));
    request.job_text = to_text(job);
    request.cuts = cuts;
    asio::co_spawn(context, run(context, server), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }
  auto run(asio::io_context& context, Address server) -> asio::awaitable<void> {
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const ConnectOptions how;
      const PeerSecurity plain;
      std::optional<PeerStream> stream =
          co_await async_connect(context.get_executor(), server, how, plain, asio::use_awaitable);
      RpcClientOptions options;
      options.service = shard;
      options.categories = ps_categories();
      clients.push_back(std::make_unique<RpcClient>(*std::move(stream), options));
      streams.push_back(clients.back()->open<Join>(request));
      co_await streams.back().async_read(asio::use_awaitable);
    }
    const Empty goodbye;
    const CallOptions how;
    co_await clients.front()->async_call<Goodbye>(goodbye, how, asio::use_awaitable);
    is_over = true;
  }

  JoinRequest request;
  std::vector<std::unique_ptr<RpcClient>> clients;
  std::vector<decltype(std::declval<RpcClient&>().open<Join>(JoinRequest{}))> streams;
  bool is_over = false;
};

}  // namespace

TEST_CASE("Server: a worker that is started when only one shard of a task is over does not wait for that shard",
          "[ps]") {
  const support::TempDirectory directory;
  Job job = loopback_job::make(1, 1, 8);
  job.shards_per_task = 2;
  job.parts[1].shard = job.parts[2].shard = 1;
  const CutSettings cuts{directory.path().string(), 4, {.max_to_keep = 5}};
  const JobUpdaters updaters{Momentum{}};
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    Cut cut = initial_cut(job, ShardLayout{job, shard}, updaters);
    cut.step = 8;
    CutStore{cuts, job, shard, updaters}.save(cut);
  }
  IoPool pool{2};
  ServerOptions options;
  options.shard.linger = 20ms;
  Server server{pool, cluster_of({"127.0.0.1:0"}, 1), "ps", 0, StandardUpdaters{}, options};
  asio::io_context context{1};
  {
    KilledBetweenGoodbyes killed{context, addresses(server).front(), job, cuts};
    support::run_until(context, [&] { return killed.is_over; });
    Worker late{context, job, 0, addresses(server), {}, cuts};
    support::run_until(context, [&] { return late.is_over; });
    CHECK(late.end.code == 1);
    CHECK(late.end.why.code == ps_errc::shard_done);
    CHECK(late.end.why.where == "shard 0");
    killed.streams.clear();
  }
  CHECK(code_of(server) == 0);
}

TEST_CASE("Server: a worker that is lost permanently ends the others too", "[ps]") {
  IoPool pool{1};
  ServerOptions options;
  options.shard.lease = 100ms;
  options.shard.restart_window = 100ms;
  Server server{pool, cluster_of({"127.0.0.1:0"}, 2), "ps", 0, StandardUpdaters{}, options};
  asio::io_context context{1};
  Worker worker{context, loopback_job::make(1, 2), 0, addresses(server)};  // rank 1 never joins
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 70);
  CHECK(worker.end.why.code == ps_errc::rank_lost);
  CHECK(worker.end.why.where == "rank 1");
  CHECK(code_of(server) == 70);
  CHECK(server.why().where == "rank 1");
}

TEST_CASE("Server: a gradient with NaN or infinity ends the job for every worker, if the job checks numerics", "[ps]") {
  const ClusterSpec cluster = cluster_of(two, 2);
  for (const bool strict : {true, false}) {
    CAPTURE(strict);
    IoPool pool{2};
    Server first{pool, cluster, "ps", 0};
    Server second{pool, cluster, "ps", 1};
    Job job = loopback_job::make(2, 2);
    job.check_numerics = strict;
    asio::io_context context{1};
    std::vector<std::unique_ptr<Worker>> workers;
    for (Rank rank = 0; rank < 2; ++rank)
      workers.push_back(std::make_unique<Worker>(context, job, rank, addresses(first, second)));
    workers[1]->spoil = [](Step step, std::vector<SharedBuffer>& blocks) {
      if (step != 3) return;
      auto spoilt = std::make_shared<AlignedBuffer>(blocks[1]->size());
      std::ranges::copy(blocks[1]->bytes(), spoilt->data());
      spoilt->as<float>().back() = std::numeric_limits<float>::infinity();
      blocks[1] = std::move(spoilt);
    };
    train(context, workers);
    for (const auto& worker : workers) {
      CHECK(worker->end.code == (strict ? 65 : 0));
      if (!strict) continue;
      CHECK(worker->end.why.code == ps_errc::not_finite);
      CHECK(worker->end.why.where == "shard 1: step 3 of rank 1, b");
    }
    CHECK(code_of(second) == (strict ? 65 : 0));
    CHECK(second.why().where == (strict ? "step 3 of rank 1, b" : ""));
    if (!strict) CHECK(code_of(first) == 0);
  }
}

TEST_CASE("Server: a second process of a rank is reported, and does no harm", "[ps]") {
  std::promise<std::string> heard;
  ServerOptions options;
  options.observer = [&heard, told = false](const Event& event) mutable {
    if (event.kind == Event::Kind::joined_twice && !std::exchange(told, true)) heard.set_value(event.text);
  };
  IoPool pool{1};
  Server server{pool, cluster_of({"127.0.0.1:0"}, 2), "ps", 0, StandardUpdaters{}, options};
  asio::io_context context{1};
  const Job job = loopback_job::make(1, 2);
  Worker second{context, job, 1, addresses(server)};
  Worker zombie{context, job, 1, addresses(server)};  // both wait for rank 0
  auto text = heard.get_future();
  while (text.wait_for(0s) != std::future_status::ready) context.run_one_for(1s);
  CHECK(text.get() ==
        "/job:ps/task:0: a second process joined as rank 1 while the first is connected: harmless, each contribution "
        "counts once; end one of them");
  Worker first{context, job, 0, addresses(server)};
  support::run_until(context, [&] { return first.is_over && (second.is_over || zombie.is_over); });
  CHECK(first.end.code == 0);
}

TEST_CASE("Server: with backup workers the others continue without a late worker, which then continues at their step",
          "[ps]") {
  ServerOptions options;
  options.metrics = Address{"127.0.0.1", 0};
  IoPool pool{2};
  Job job = loopback_job::make(1, 3, 40);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  Server server{pool, cluster_of({"127.0.0.1:0"}, 3), "ps", 0, StandardUpdaters{}, options};
  const auto metric = [&](asio::io_context& context, const std::string& name) -> double {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), server.metrics_port()});
    asio::write(socket, asio::buffer(std::string{"GET /metrics HTTP/1.0\r\n\r\n"}));
    const std::string answer = support::SocketPair::read_all(socket);
    const auto samples = exposition::read(answer.substr(answer.find("\r\n\r\n") + 4));
    return samples ? samples->at("distrib_ps_" + name + "{task=\"0\",shard=\"0\"}") : -1;
  };

  // Rank 0 stays in step 1 until rank 2 is in step 1 too, however late its thread runs. Rank 2 stays there until rank 0
  // is in step 8, and rank 0 stays there until rank 2 is in its next step.
  std::promise<void> late_one_began;
  std::promise<void> others_are_ahead;
  std::promise<void> late_one_is_back;
  std::vector<Step> of_late;
  double stale = -1;
  std::vector<int> codes(3, -1);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      asio::io_context context{1};
      Worker worker{context, job, rank, addresses(server)};
      worker.at_step = [&](Step step) {
        if (rank == 0 && step == 1) late_one_began.get_future().wait();
        if (rank == 0 && step == 8) {
          others_are_ahead.set_value();
          late_one_is_back.get_future().wait();
        }
        if (rank != 2) return;
        of_late.push_back(step);
        if (of_late.size() == 1) {
          late_one_began.set_value();
          others_are_ahead.get_future().wait();
        }
        if (of_late.size() != 2) return;
        stale = metric(context, "stale_total");
        late_one_is_back.set_value();
      };
      while (!worker.is_over && context.run_one() == 1) {
      }
      codes[rank] = worker.end.code;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(codes == std::vector<int>{0, 0, 0});
  REQUIRE(of_late.size() > 1);
  CHECK(of_late[0] == 1);
  CHECK(of_late[1] == 8);
  CHECK(stale == 1);
  CHECK(code_of(server) == 0);
}
