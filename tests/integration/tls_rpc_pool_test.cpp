// SPDX-License-Identifier: Apache-2.0
// A pool over TLS: the same pool with a transport in its options.
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client_pool.hpp>
#include <distrib/rpc/rpc_metrics.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "net/tls/tls_ends.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using messages::Bulk;
using messages::Text;
using support::run_until;

namespace {

struct PoolEcho : Method<"test.TlsEcho", Text, Text> {
  static constexpr bool idempotent = true;
};
struct PoolMirror : Method<"test.TlsMirror", Bulk, Bulk> {};

/// Answers every call except "never". The first "break" breaks its connection.
auto breaking_router(bool& breaks) {
  return Router{on<PoolEcho>([&breaks](Text request, auto call) {
                  if (request.text == "break" && std::exchange(breaks, false)) return call.connection()->close();
                  if (request.text != "never") call.reply(request);
                }),
                on<PoolMirror>([](Bulk request, auto call) { call.reply(request); })};
}
using BreakingServer = RpcServer<decltype(breaking_router(std::declval<bool&>()))>;

/// A server that can be started again on its port, clients that trust it, and the events of their pool.
struct TlsPoolHouse {
  auto files() const -> TlsFiles { return ours.issue("server", tls_ends::here); }
  /// Replaces the files by files that an authority has issued that the clients do not trust.
  void replace_files() const {
    const TlsFiles theirs = strangers.issue("server", tls_ends::here);
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(theirs.certificate, ours.path("server.pem"), over);
    std::filesystem::copy_file(theirs.key, ours.path("server.key"), over);
    std::filesystem::copy_file(theirs.authority, ours.path("authority.pem"), over);
  }
  void start() {
    server.reset();
    RpcServerOptions how;
    how.transport = server_tls;
    server = std::make_unique<BreakingServer>(context.get_executor(), Address{"127.0.0.1", port},
                                              breaking_router(breaks), how);
    port = server->port();
  }
  auto address() const -> Address { return {"127.0.0.1", port}; }

  auto options() -> RpcClientPoolOptions {
    RpcClientPoolOptions made;
    made.client.transport = client_tls;
    made.backoff = {.first = 1ms, .longest = 2ms};
    made.seed = 1;
    made.observer = [this](const Event& event) { told.push_back(event); };
    return made;
  }
  /// Runs until a new event of this kind with this code arrives.
  auto heard(Event::Kind kind, const std::error_code& code) -> Event {
    std::size_t next = told.size();
    run_until(context, [&] {
      while (next < told.size() && !(told[next].kind == kind && told[next].code == code)) ++next;
      return next < told.size();
    });
    return told[next];
  }

  template <class Pool>
  auto echo(Pool& pool, const std::string& text, CallOptions how = 60s) -> std::error_code {
    std::optional<std::error_code> end;
    pool.template async_call<PoolEcho>({text}, std::move(how), [&](std::error_code ec, const Text& reply) {
      end = ec;
      if (!ec) CHECK(reply.text == text);
    });
    run_until(context, [&] { return end.has_value(); });
    return *end;
  }

  asio::io_context context{1};
  support::Authority ours{"ours"};
  support::Authority strangers{"strangers"};
  std::shared_ptr<const Tls> server_tls = tls_ends::any_of(files());
  std::shared_ptr<const Tls> client_tls = tls_ends::any_of(ours.issue("client", tls_ends::here));
  bool breaks = false;
  std::uint16_t port = 0;
  std::unique_ptr<BreakingServer> server;
  std::vector<Event> told;
};

}  // namespace

TEST_CASE("RpcClientPool over TLS: large and small calls, and an observer that counts them", "[tls]") {
  TlsPoolHouse house;
  house.start();
  RpcClientPoolOptions options = house.options();
  options.connections = 2;
  RpcMetrics<PoolEcho, PoolMirror> metrics;
  BasicRpcClientPool pool{house.context.get_executor(), house.address(), options, metrics};
  const SharedBuffer body = stream::body(4U << 20);
  int open = 21;
  pool.async_call<PoolMirror>({7, body}, 60s, [&](std::error_code ec, const Bulk& reply) {
    CHECK_FALSE(ec);
    REQUIRE(reply.body != nullptr);
    CHECK(std::ranges::equal(reply.body->bytes(), body->bytes()));
    --open;
  });
  for (std::size_t i = 0; i < 20; ++i)
    pool.async_call<PoolEcho>({std::string(i * 1000, 'x')}, 60s, [&, i](std::error_code ec, const Text& reply) {
      CHECK_FALSE(ec);
      CHECK(reply.text.size() == i * 1000);
      --open;
    });
  run_until(house.context, [&] { return open == 0 && pool.connections() == 2; });
  CHECK(metrics.of<PoolEcho>().ended == 20);
}

TEST_CASE("RpcClientPool over TLS: a server that starts late, dies, and starts again", "[tls]") {
  TlsPoolHouse house;
  house.start();  // to get a port
  house.server.reset();
  BasicRpcClientPool pool{house.context.get_executor(), house.address(), house.options()};
  CHECK(house.heard(Event::Kind::waiting, net_errc::refused).peer == house.address().to_string());
  house.start();
  CHECK_FALSE(house.echo(pool, "late"));

  std::optional<std::error_code> end;
  pool.async_call<PoolEcho>({"never"}, {}, [&](std::error_code ec, const Text&) { end = ec; });
  CHECK_FALSE(house.echo(pool, "behind it"));  // so the server has received the call before it
  house.server.reset();
  run_until(house.context, [&] { return pool.connections() == 0; });
  CHECK(pool.waiting() == 1);  // it is repeated, because its method is idempotent
  house.start();
  CHECK_FALSE(house.echo(pool, "again"));
  CHECK_FALSE(end);
  CHECK(pool.connections() == 1);
}

TEST_CASE("RpcClientPool over TLS: a server that the client does not trust", "[tls]") {
  TlsPoolHouse house;
  house.server_tls = tls_ends::any_of(house.strangers.issue("server", "IP:127.0.0.1"));
  house.start();
  RpcClientPoolOptions options = house.options();
  SECTION("calls wait until their deadline, or for `connect_within`, and then fail with the reason") {
    options.connect_within = 20ms;
    BasicRpcClientPool pool{house.context.get_executor(), house.address(), options};
    const Event event = house.heard(Event::Kind::waiting, net_errc::untrusted);
    CHECK_THAT(event.text, ContainsSubstring(house.address().to_string()) && ContainsSubstring("certificate"));
    CHECK(house.echo(pool, "a", 20ms) == net_errc::untrusted);
    CHECK(house.echo(pool, "b", {}) == net_errc::untrusted);
    CHECK(pool.waiting() == 0);
  }
  SECTION("with `fail_fast` calls do not wait") {
    options.fail_fast = true;
    BasicRpcClientPool pool{house.context.get_executor(), house.address(), options};
    CHECK(house.echo(pool, "a", {}) == net_errc::untrusted);
  }
  CHECK(house.server->connections() == 0);
}

TEST_CASE("RpcClientPool over TLS: a server that does not accept the client", "[tls]") {
  TlsPoolHouse house;
  house.server_tls = Tls::from_files(house.files(), TlsOptions{.peers = {"w0.example"}});
  house.start();
  RpcClientPoolOptions options = house.options();
  options.fail_fast = true;
  BasicRpcClientPool stranger{house.context.get_executor(), house.address(), options};
  CHECK(house.echo(stranger, "a", {}) == net_errc::own_certificate_refused);
  REQUIRE_FALSE(house.told.empty());

  house.client_tls = Tls::from_files(house.ours.issue("worker", "DNS:w0.example"));
  BasicRpcClientPool known{house.context.get_executor(), house.address(), house.options()};
  CHECK_FALSE(house.echo(known, "b"));
}

TEST_CASE("RpcClientPool over TLS: certificates that change while it runs", "[tls]") {
  TlsPoolHouse house;
  house.start();
  BasicRpcClientPool pool{house.context.get_executor(), house.address(), house.options()};
  CHECK_FALSE(house.echo(pool, "a"));

  house.replace_files();
  Error error;
  house.server_tls->refresh({}, nullptr, error);
  CHECK_FALSE(error);
  CHECK_FALSE(house.echo(pool, "b"));  // the open connection continues
  house.breaks = true;
  std::optional<std::error_code> end;
  pool.async_call<PoolEcho>({"break"}, {60s}, [&](std::error_code ec, const Text&) { end = ec; });
  CHECK_THAT(house.heard(Event::Kind::waiting, net_errc::untrusted).text, ContainsSubstring("certificate"));
  CHECK_FALSE(end);
  house.client_tls->refresh({}, nullptr, error);  // its authority is in the file that was replaced
  CHECK(error.code == net_errc::untrusted);  // its own certificate is not of that authority

  house.ours.renew();  // the old authority again
  static_cast<void>(house.files());  // trusted files again, with another key
  house.server_tls->refresh({}, nullptr, error);
  CHECK_FALSE(error);
  run_until(house.context, [&] { return end.has_value(); });
  CHECK_FALSE(*end);
  CHECK_FALSE(house.breaks);
}

TEST_CASE("RpcClientPool over TLS: the time limit of an attempt includes the handshake", "[tls]") {
  TlsPoolHouse house;
  // The system accepts connections, but no server answers.
  support::Acceptor silent{house.context, support::loopback()};
  house.port = silent.local_endpoint().port();
  RpcClientPoolOptions options = house.options();
  options.longest_try = 20ms;
  BasicRpcClientPool pool{house.context.get_executor(), house.address(), options};
  house.heard(Event::Kind::waiting, net_errc::timed_out);
  CHECK(house.echo(pool, "a", 10ms) == net_errc::timed_out);
}

TEST_CASE("RpcClientPool over TLS: destroyed at any time, each call ends once", "[tls]") {
  TlsPoolHouse house;
  house.start();
  for (int handlers = 0; handlers < 24; ++handlers) {
    int ends = 0;
    {
      BasicRpcClientPool pool{house.context.get_executor(), house.address(), house.options()};
      pool.async_call<PoolEcho>({"a"}, {}, [&](std::error_code, const Text&) { ++ends; });
      house.context.restart();
      for (int i = 0; i < handlers && ends == 0; ++i) house.context.run_one();
    }
    run_until(house.context, [&] { return ends == 1 && house.server->connections() == 0; });
    house.context.poll();
    CHECK(ends == 1);
  }
  house.server.reset();
  house.context.restart();
  house.context.run();  // nothing is left
}
#endif
