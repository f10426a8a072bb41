// SPDX-License-Identifier: Apache-2.0
// Tasks of a job over TLS: workers, parameter servers, status, probes and metrics.
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/worker/ask_status.hpp>
#include <distrib/ps/worker/probe.hpp>

#include "net/tls/tls_ends.hpp"
#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

auto tls_cluster(std::uint16_t port) -> ClusterSpec {
  return {{"ps", {"127.0.0.1:" + std::to_string(port)}}, {"worker", {"127.0.0.1:1"}}};
}

/// TLS of a task, which accepts the hosts of the cluster only.
auto of_task(const support::Authority& authority, const std::string& names) -> std::shared_ptr<const Tls> {
  return Tls::from_files(authority.issue("task", names));
}

/// The events of a server, which come from its thread.
class HeardEvents {
 public:
  auto observer() -> Observer {
    return [this](const Event& event) {
      const std::lock_guard lock{mutex_};
      if (event.kind == Event::Kind::tls_refused) texts_.push_back(event.text);
    };
  }
  auto texts() -> std::vector<std::string> {
    const std::lock_guard lock{mutex_};
    return texts_;
  }
  /// Waits for the first text.
  auto first() -> std::string { return first_with(""); }
  /// Waits for a text that contains `part`.
  auto first_with(std::string_view part) -> std::string {
    const auto has_part = [&](const std::string& text) { return text.find(part) != std::string::npos; };
    for (;; std::this_thread::yield()) {
      const std::vector<std::string> all = texts();
      if (const auto found = std::ranges::find_if(all, has_part); found != all.end()) return *found;
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

auto tls_options(const std::shared_ptr<const Transport>& tls, HeardEvents& heard) -> ServerOptions {
  ServerOptions options;
  options.rpc.transport = tls;
  options.rpc.greeting_within = 60s;
  options.observer = heard.observer();
  return options;
}

}  // namespace

TEST_CASE("Server over TLS with a secret: the same values as without, also if the server dies", "[ps][tls]") {
  const support::Authority authority{"job"};
  IoPool pool{2};
  asio::io_context context{1};
  HeardEvents heard;
  const auto run = [&](bool secure, Step dies_at) {
    ServerOptions options = tls_options(secure ? of_task(authority, tls_ends::here) : nullptr, heard);
    if (secure) options.rpc.secret = SharedSecret::from_bytes(as_bytes("sixteen bytes ok"));
    std::optional<Server> server{std::in_place, pool, tls_cluster(0), "ps", 0U, StandardUpdaters{}, options};
    const std::uint16_t port = server->port();
    WorkerClientOptions how;
    how.rpc.transport = options.rpc.transport;
    how.rpc.secret = options.rpc.secret;
    loopback_job::Worker worker{context, loopback_job::make(1, 1, 20), 0, {{"127.0.0.1", port}}, how};
    worker.at_step = [&](Step step) {
      if (step != dies_at) return;
      worker.at_step = nullptr;
      server.reset();
    };
    worker.heard = [&](const Event& event) {
      if (event.kind == Event::Kind::lost)
        server.emplace(pool, tls_cluster(port), "ps", 0U, StandardUpdaters{}, options);
    };
    support::run_until(context, [&] { return worker.is_over; });
    INFO(worker.end.why.where);
    CHECK(worker.end.code == 0);
    return loopback_job::hash_of(worker.end.result);
  };
  const std::string plain = run(false, 0);
  CHECK(run(true, 0) == plain);
  CHECK(run(true, 9) == plain);
  CHECK(heard.texts().empty());
}

TEST_CASE("WorkerClient: ends with code 65 at once if only one end uses TLS, and both say why", "[ps][tls]") {
  const support::Authority authority{"job"};
  const auto tls = of_task(authority, tls_ends::here);
  IoPool pool{1};
  asio::io_context context{1};
  HeardEvents heard;
  const bool server_does = GENERATE(true, false);
  const Server server{pool, tls_cluster(0),     "ps",
                      0U,   StandardUpdaters{}, tls_options(server_does ? tls : nullptr, heard)};
  WorkerClientOptions how;
  if (!server_does) how.rpc.transport = tls;
  loopback_job::Worker worker{context, loopback_job::make(1, 1), 0, {{"127.0.0.1", server.port()}}, how};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 65);
  CHECK(worker.end.why.code == net_errc::no_tls);
  CHECK_THAT(worker.end.why.where, ContainsSubstring(server_does ? "TLS only" : "speaks no TLS"));
  CHECK(std::ranges::none_of(worker.events, [](const Event& event) { return event.kind == Event::Kind::waiting; }));
  CHECK_THAT(heard.first(), ContainsSubstring("/job:ps/task:0: refused 127.0.0.1:") &&
                                ContainsSubstring(server_does ? "does not use TLS" : "uses TLS"));
}

TEST_CASE("WorkerClient: ends with code 65 if a certificate is not accepted", "[ps][tls]") {
  const support::Authority authority{"job"};
  const support::Authority others{"others"};
  IoPool pool{1};
  asio::io_context context{1};
  HeardEvents heard;
  const Server server{pool, tls_cluster(0),     "ps",
                      0U,   StandardUpdaters{}, tls_options(of_task(authority, tls_ends::here), heard)};
  WorkerClientOptions how;
  net_errc code{};
  Address address{"127.0.0.1", server.port()};
  SECTION("that of the worker: another host") {
    how.rpc.transport = of_task(authority, "DNS:w9.example");
    code = net_errc::own_certificate_refused;
  }
  SECTION("that of the server: another authority") {
    how.rpc.transport = of_task(others, tls_ends::here);
    code = net_errc::untrusted;
  }
  loopback_job::Worker worker{context, loopback_job::make(1, 1), 0, {address}, how};
  support::run_until(context, [&] { return worker.is_over; });
  CHECK(worker.end.code == 65);
  CHECK(worker.end.why.code == code);
  if (code == net_errc::own_certificate_refused)
    CHECK_THAT(heard.first(), ContainsSubstring("w9.example") && ContainsSubstring("must be 127.0.0.1"));
  else CHECK_THAT(heard.first(), ContainsSubstring("does not accept this end's certificate"));
}

TEST_CASE("Server over TLS: its own certificate must be for its host", "[ps][tls]") {
  const support::Authority authority{"job"};
  IoPool pool{1};
  HeardEvents heard;
  CHECK_THROWS_WITH(Server(pool, tls_cluster(0), "ps", 0U, StandardUpdaters{},
                           tls_options(of_task(authority, "DNS:ps7.example"), heard)),
                    ContainsSubstring("ps7.example") && ContainsSubstring("must be for 127.0.0.1"));
}

TEST_CASE("ask_status, probe: over TLS, for the name of the task", "[ps][tls]") {
  const support::Authority authority{"job"};
  IoPool pool{1};
  HeardEvents heard;
  const auto tls = Tls::from_files(authority.issue("task", "DNS:localhost,DNS:ps0.invalid"));
  const ClusterSpec cluster{{"ps", {"ps0.invalid:0"}}, {"worker", {"localhost:1"}}};
  const Server server{pool, cluster, "ps", 0U, StandardUpdaters{}, tls_options(tls, heard)};
  const std::string port = ":" + std::to_string(server.port());
  AskOptions how;
  how.within = 60s;
  how.tls = tls;
  CHECK(ask_status(Address::parse("localhost" + port), how).size() == 1);
  ClusterFlags flags;
  flags.job_name = "ps";
  flags.worker_hosts = {"localhost:1"};
  flags.ps_hosts = {"ps0.invalid" + port};  // found at the loopback address
  CHECK_FALSE(probe(flags, how));
  flags.ps_hosts = {"ps1.invalid" + port};
  CHECK(probe(flags, how));
  Error error;
  CHECK(ask_status(Address::parse("127.0.0.1" + port), how, error).empty());
  CHECK(error.code == net_errc::untrusted);
  CHECK_THAT(error.where, ContainsSubstring("the server must be 127.0.0.1; the certificate is for localhost"));
  how.tls = nullptr;
  CHECK(ask_status(Address::parse("localhost" + port), how, error).empty());
  CHECK(error.code == net_errc::no_tls);
  CHECK_THAT(error.where, ContainsSubstring("this server speaks TLS only"));
}

TEST_CASE("Server over TLS: metrics for visitors without a certificate, unless told otherwise", "[ps][tls]") {
  const support::Authority authority{"job"};
  IoPool pool{1};
  HeardEvents heard;
  ServerOptions options = tls_options(of_task(authority, tls_ends::here), heard);
  options.metrics = Address{"127.0.0.1", 0};
  options.metrics_need_certificate = GENERATE(false, true);
  const Server server{pool, tls_cluster(0), "ps", 0U, StandardUpdaters{}, options};
  const auto ask = [&](const std::shared_ptr<const Transport>& tls) -> std::string {
    asio::io_context context{1};
    std::optional<PeerStream> stream;
    bool over = false;
    const PeerConnector connector{context.get_executor(),
                                  {"127.0.0.1", server.metrics_port()},
                                  {},
                                  [&](const Error&, std::optional<PeerStream> made) {
                                    if (made) stream.emplace(*std::move(made));
                                    over = true;
                                  },
                                  {tls}};
    support::run_until(context, [&] { return over; });
    if (!stream) return {};
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
    std::string answer;
    std::array<char, 4096> part{};
    std::function<void()> read = [&] {
      stream->async_read_some(asio::buffer(part), [&](const std::error_code& ec, std::size_t count) {
        answer.append(part.data(), count);
        over = static_cast<bool>(ec);
        if (!ec) read();
      });
    };
    over = false;
    stream->async_write_some(asio::buffer(request), [&](const std::error_code&, std::size_t) { read(); });
    support::run_until(context, [&] { return over; });
    return answer;
  };
  const std::string good = "HTTP/1.1 200 OK\r\n";
  const std::string page = ask(of_task(authority, tls_ends::here));
  CHECK(page.starts_with(good));
  const auto expires = std::chrono::floor<std::chrono::seconds>(options.rpc.transport->expires().time_since_epoch());
  CHECK_THAT(page,
             ContainsSubstring("\ndistrib_tls_certificate_expires_seconds " + std::to_string(expires.count()) + "\n"));
  CHECK(ask(Tls::from_files({{}, {}, authority.file()})).starts_with(good) != options.metrics_need_certificate);
  asio::io_context context{1};
  TcpSocket plain{context.get_executor()};
  plain.connect({asio::ip::address_v4::loopback(), server.metrics_port()});
  asio::write(plain, asio::buffer("GET /metrics HTTP/1.1\r\n\r\n", 25));
  CHECK_THAT(support::SocketPair::read_all(plain), ContainsSubstring("400 Bad Request") && ContainsSubstring("https"));
}

TEST_CASE("Server, worker and status: a program without TLS, started for a job with TLS, fails", "[ps][tls]") {
  ::setenv("DISTRIB_TLS_DIRECTORY", "/etc/distrib/tls", 1);
  IoPool pool{1};
  asio::io_context context{1};
  const auto says = ContainsSubstring("this program speaks no TLS");
  CHECK_THROWS_WITH(Server(pool, tls_cluster(0), "ps", 0U), says);
  CHECK_THROWS_WITH(loopback_job::Worker(context, loopback_job::make(1, 1), 0, {{"127.0.0.1", 1}}), says);
  CHECK_THROWS_WITH(ask_status({"127.0.0.1", 1}), says);
  ::unsetenv("DISTRIB_TLS_DIRECTORY");
}

TEST_CASE("Server over TLS: changed files are used by new connections, and refused ones are told", "[ps][tls]") {
  const support::Authority authority{"job"};
  const support::Authority next{"next"};
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  authority.issue_in(path, {tls_ends::here});
  IoPool pool{1};
  asio::io_context context{1};
  HeardEvents heard;
  TlsOptions often;
  often.refresh_every = 1ms;
  const Server server{pool, tls_cluster(0),     "ps",
                      0U,   StandardUpdaters{}, tls_options(Tls::from_directory(path, often), heard)};
  const Address address{"127.0.0.1", server.port()};
  AskOptions how;
  how.within = 60s;
  how.tls = of_task(authority, tls_ends::here);
  CHECK(ask_status(address, how).size() == 1);
  authority.issue_in(path, {"DNS:ps7.example"});
  // Before that, it may have read one of the three files half written, and told that.
  CHECK_THAT(heard.first_with("must be for 127.0.0.1"), ContainsSubstring("new certificate files"));
  CHECK(ask_status(address, how).size() == 1);  // the earlier certificate stays in use
  next.issue_in(path, {tls_ends::here});
  how.tls = of_task(next, tls_ends::here);
  Error error = {net_errc::untrusted, {}};
  const auto until = support::now() + 60s;
  while (error && support::now() < until) static_cast<void>(ask_status(address, how, error));
  CHECK_FALSE(error);
}
#endif
