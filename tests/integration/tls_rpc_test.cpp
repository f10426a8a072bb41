// SPDX-License-Identifier: Apache-2.0
// Calls over TLS: the same cores and the same server with another listener.
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls_connect.hpp>
#include <distrib/net/tls/tls_listener.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using messages::Bulk;
using messages::Echo;
using messages::Text;
using support::run_until;

namespace {

using TlsRpcClient = BasicRpcClient<TlsStream>;

struct Mirror : Method<"test.Mirror", Bulk, Bulk> {};

const Address anywhere{"127.0.0.1", 0};

auto secret(std::string_view text) -> SharedSecret { return SharedSecret::from_bytes(as_bytes(text)); }

auto tls_router() {
  return Router{on<Echo>([](Text request, auto call) {
                  if (request.text != "never") call.reply(request);
                }),
                on<Mirror>([](Bulk request, auto call) { call.reply(request); })};
}

struct TlsHouse {
  auto files(const std::string& stem) const -> TlsFiles { return ours.issue(stem, "DNS:localhost,IP:127.0.0.1"); }
  auto mutual(const std::string& stem) const -> TlsFiles {
    TlsFiles made = files(stem);
    made.authority = ours.file();
    return made;
  }
  auto client_context() const -> TlsContext { return TlsContext{TlsSide::client, {{}, {}, ours.file()}}; }

  auto connect(std::uint16_t port, const TlsContext& tls) -> std::optional<TlsStream> {
    std::optional<TlsStream> connected;
    bool called = false;
    const TlsConnector connector{context.get_executor(),
                                 {"127.0.0.1", port},
                                 {},
                                 [&](const Error& error, std::optional<TlsStream> stream) {
                                   CHECK_FALSE(error);
                                   connected = std::move(stream);
                                   called = true;
                                 },
                                 TlsConnect{tls}};
    run_until(context, [&] { return called; });
    REQUIRE(connected);
    return connected;
  }

  template <class Client>
  auto echo(Client& client, const std::string& text) -> std::error_code {
    std::optional<std::error_code> end;
    client.template async_call<Echo>({text}, 20s, [&](std::error_code ec, Text reply) {
      end = ec;
      if (!ec) CHECK(reply.text == text);
    });
    run_until(context, [&] { return end.has_value(); });
    return *end;
  }

  asio::io_context context{1};
  support::Authority ours{"ours"};
};

}  // namespace

TEST_CASE("RpcServer over TLS: large messages both ways, and small ones at the same time", "[tls]") {
  TlsHouse house;
  RpcServer server{house.context.get_executor(),
                   anywhere,
                   tls_router(),
                   {},
                   TlsAccept{TlsContext{TlsSide::server, house.files("server")}}};
  TlsRpcClient client{*house.connect(server.port(), house.client_context())};
  const SharedBuffer body = stream::body(16U << 20);
  int open = 22;
  for (int i = 0; i < 2; ++i)
    client.async_call<Mirror>({7, body}, 60s, [&](std::error_code ec, Bulk reply) {
      CHECK_FALSE(ec);
      REQUIRE(reply.body != nullptr);
      CHECK(reply.step == 7);
      CHECK(std::ranges::equal(reply.body->bytes(), body->bytes()));
      --open;
    });
  for (std::size_t i = 0; i < 20; ++i)
    client.async_call<Echo>({std::string(i * 1000, 'x')}, 60s, [&, i](std::error_code ec, Text reply) {
      CHECK_FALSE(ec);
      CHECK(reply.text.size() == i * 1000);
      --open;
    });
  run_until(house.context, [&] { return open == 0; });
  CHECK(server.connections() == 1);
  server.drain(std::chrono::minutes{1});
  run_until(house.context, [&] { return server.connections() == 0; });
  CHECK(house.echo(client, "late") == failure::unavailable);
}

TEST_CASE("RpcServer over TLS: with a shared secret in addition", "[tls]") {
  TlsHouse house;
  RpcServerOptions options;
  options.secret = secret("sixteen bytes ok");
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), options,
                   TlsAccept{TlsContext{TlsSide::server, house.files("server")}}};
  for (const bool right : {true, false}) {
    RpcClientOptions known;
    known.secret = secret(right ? "sixteen bytes ok" : "sixteen bytes no");
    TlsRpcClient client{*house.connect(server.port(), house.client_context()), known};
    CHECK(house.echo(client, "a") == (right ? std::error_code{} : make_error_code(rpc_errc::unauthorized)));
  }
}

TEST_CASE("RpcServer over TLS: certificates of clients, and certificates that are reloaded", "[tls]") {
  TlsHouse house;
  std::vector<Error> refused;
  TlsContext tls{TlsSide::server, house.mutual("server")};
  RpcServer server{house.context.get_executor(),
                   anywhere,
                   tls_router(),
                   {},
                   TlsAccept{.context = tls, .refused = [&](const Error& error) { refused.push_back(error); }}};
  TlsRpcClient worker{*house.connect(server.port(), TlsContext{TlsSide::client, house.mutual("worker")})};
  CHECK_FALSE(house.echo(worker, "a"));

  Error reason;
  TlsRpcClient stranger{
      *house.connect(server.port(), house.client_context()), {}, [&](const Error& error) { reason = error; }};
  CHECK(house.echo(stranger, "b") == rpc_errc::lost);
  CHECK_THAT(reason.where, ContainsSubstring("certificate required"));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].code == net_errc::untrusted);

  static_cast<void>(house.files("server"));  // another key in the same files
  tls.reload();
  TlsRpcClient newer{*house.connect(server.port(), TlsContext{TlsSide::client, house.mutual("worker")})};
  CHECK_FALSE(house.echo(newer, "c"));
  CHECK_FALSE(house.echo(worker, "d"));  // a connection from before the reload
}

TEST_CASE("RpcServer over TLS: if only one end uses TLS, the client learns it at once", "[tls]") {
  TlsHouse house;
  RpcServer secure{house.context.get_executor(),
                   anywhere,
                   tls_router(),
                   {},
                   TlsAccept{TlsContext{TlsSide::server, house.files("server")}}};
  RpcClient plain{loopback::connect(house.context, secure.port())};
  CHECK(house.echo(plain, "a") == rpc_errc::lost);

  RpcServer open{house.context.get_executor(), anywhere, tls_router()};
  Error reason;
  const TlsConnector connector{house.context.get_executor(),
                               {"127.0.0.1", open.port()},
                               {},
                               [&](const Error& error, const std::optional<TlsStream>&) { reason = error; },
                               TlsConnect{house.client_context()}};
  run_until(house.context, [&] { return static_cast<bool>(reason); });
  CHECK(reason.code == net_errc::no_tls);
}

TEST_CASE("RpcServer over TLS: destroyed with connections and handshakes", "[tls]") {
  TlsHouse house;
  using Server = RpcServer<decltype(tls_router()), TlsListener>;
  auto server = std::make_unique<Server>(house.context.get_executor(), anywhere, tls_router(), RpcServerOptions{},
                                         TlsAccept{TlsContext{TlsSide::server, house.files("server")}});
  TlsRpcClient client{*house.connect(server->port(), house.client_context())};
  CHECK_FALSE(house.echo(client, "a"));
  const TcpSocket silent = loopback::connect(house.context, server->port());
  std::error_code end;
  client.async_call<Echo>({"never"}, {}, [&](std::error_code ec, Text) { end = ec; });
  house.context.poll();
  server.reset();
  run_until(house.context, [&] { return static_cast<bool>(end); });
  CHECK(end == rpc_errc::lost);
  house.context.restart();
  house.context.run();  // nothing is left
}
#endif
