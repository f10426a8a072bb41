// SPDX-License-Identifier: Apache-2.0
// Calls over TLS: the same cores, servers and clients with a transport in their options.
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/async_connect.hpp>
#include <distrib/net/tls/tls.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_pool_server.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "net/tls/tls_ends.hpp"
#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using messages::Bulk;
using messages::Echo;
using messages::Text;
using support::run_until;

namespace {

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
  auto options() -> RpcServerOptions {
    RpcServerOptions made;
    made.transport = tls_ends::ours();
    made.refused = [this](const Error& error) { refused.push_back(error); };
    return made;
  }
  static auto known() -> RpcClientOptions {
    RpcClientOptions made;
    made.transport = tls_ends::ours();
    return made;
  }

  /// Connects; the error is the connector's.
  auto try_connect(std::uint16_t port, std::shared_ptr<const Transport> tls, Error& error)
      -> std::optional<PeerStream> {
    std::optional<PeerStream> connected;
    bool called = false;
    const PeerConnector connector{context.get_executor(),
                                  {"127.0.0.1", port},
                                  {},
                                  [&](const Error& failure, std::optional<PeerStream> stream) {
                                    error = failure;
                                    if (stream) connected.emplace(*std::move(stream));
                                    called = true;
                                  },
                                  {std::move(tls)}};
    run_until(context, [&] { return called; });
    return connected;
  }
  auto connect(std::uint16_t port, std::shared_ptr<const Transport> tls = tls_ends::ours()) -> PeerStream {
    Error error;
    auto connected = try_connect(port, std::move(tls), error);
    CHECK_FALSE(error);
    REQUIRE(connected);
    return *std::move(connected);
  }

  template <class Client> auto echo(Client& client, const std::string& text) -> std::error_code {
    std::optional<std::error_code> end;
    client.template async_call<Echo>({text}, 60s, [&](std::error_code ec, const Text& reply) {
      end = ec;
      if (!ec) CHECK(reply.text == text);
    });
    run_until(context, [&] { return end.has_value(); });
    return *end;
  }

  asio::io_context context{1};
  std::vector<Error> refused;
};

/// Something in between that has a certificate of the same authority: it ends both TLS connections, and passes on every
/// byte.
class Relay {
 public:
  Relay(asio::io_context& context, std::uint16_t to) : context_{context}, to_{to} {}

  [[nodiscard]] auto port() const -> std::uint16_t { return listener_.port(); }

 private:
  struct Way {
    PeerStream* from;
    PeerStream* to;
    std::array<std::byte, 4096> part{};
  };

  void accepted(PeerStream stream) {
    near_.emplace(std::move(stream));
    connector_.emplace(
        context_.get_executor(), Address{"127.0.0.1", to_}, ConnectOptions{},
        [this](const Error& error, std::optional<PeerStream> made) {
          REQUIRE_FALSE(error);
          far_.emplace(*std::move(made));
          pass(there_ = {&*near_, &*far_});
          pass(back_ = {&*far_, &*near_});
        },
        PeerSecurity{tls_ends::ours()});
  }
  void pass(Way& way) {
    way.from->async_read_some(asio::buffer(way.part), [this, &way](const std::error_code& ec, std::size_t count) {
      std::error_code ignored;
      if (ec) return static_cast<void>(way.to->lowest_layer().shutdown(TcpSocket::shutdown_both, ignored));
      send(way, ByteView{way.part}.first(count));
    });
  }
  void send(Way& way, ByteView bytes) {
    if (bytes.empty()) return pass(way);
    way.to->async_write_some(asio::buffer(bytes.data(), bytes.size()),
                             [this, &way, bytes](const std::error_code& ec, std::size_t count) {
                               if (!ec) send(way, bytes.subspan(count));
                             });
  }

  asio::io_context& context_;
  std::uint16_t to_;
  PeerListener listener_{context_.get_executor(),
                         anywhere,
                         [this](PeerStream stream) { accepted(std::move(stream)); },
                         {.transport = tls_ends::ours()}};
  std::optional<PeerStream> near_;
  std::optional<PeerStream> far_;
  std::optional<PeerConnector> connector_;
  Way there_{};
  Way back_{};
};

}  // namespace

TEST_CASE("RpcServer over TLS: large messages both ways, and small ones at the same time", "[tls]") {
  TlsHouse house;
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), house.options()};
  RpcClient client{house.connect(server.port()), TlsHouse::known()};
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
  CHECK(house.refused.empty());
}

TEST_CASE("RpcServer over TLS: with a shared secret, which nothing in between can use", "[tls]") {
  TlsHouse house;
  RpcServerOptions options = house.options();
  options.secret = secret("sixteen bytes ok");
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), options};
  for (const bool right : {true, false}) {
    RpcClientOptions known = TlsHouse::known();
    known.secret = secret(right ? "sixteen bytes ok" : "sixteen bytes no");
    RpcClient client{house.connect(server.port()), known};
    CHECK(house.echo(client, "a") == (right ? std::error_code{} : make_error_code(rpc_errc::unauthorized)));
  }
  // Both ends have the secret, and accept the relay's certificate.
  const Relay relay{house.context, server.port()};
  RpcClientOptions known = TlsHouse::known();
  known.secret = options.secret;
  RpcClient client{house.connect(relay.port()), known};
  CHECK(house.echo(client, "b") == rpc_errc::unauthorized);
}

TEST_CASE("RpcServer over TLS: a relay without a shared secret is not noticed", "[tls]") {
  TlsHouse house;
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), house.options()};
  const Relay relay{house.context, server.port()};
  RpcClient client{house.connect(relay.port()), TlsHouse::known()};
  CHECK_FALSE(house.echo(client, "through it"));
}

TEST_CASE("RpcServer over TLS: a client whose certificate is not accepted learns it, and is not told to repeat",
          "[tls]") {
  TlsHouse house;
  RpcServerOptions options = house.options();
  options.transport = Tls::from_files(tls_ends::authority().issue("strict", tls_ends::here));
  options.clients = std::make_shared<const ClientRules>(ClientRules{{"w0.example"}});
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), options};
  Error reason;
  RpcClient stranger{house.connect(server.port()), TlsHouse::known(), [&](const Error& error) { reason = error; }};
  CHECK(house.echo(stranger, "a") == net_errc::own_certificate_refused);
  CHECK(reason.code == net_errc::own_certificate_refused);
  REQUIRE(house.refused.size() == 1);
  CHECK(house.refused[0].code == net_errc::untrusted);
  CHECK_THAT(house.refused[0].where, ContainsSubstring("127.0.0.1:") && ContainsSubstring("w0.example") &&
                                         ContainsSubstring("localhost, 127.0.0.1"));
  const auto worker = Tls::from_files(tls_ends::authority().issue("worker", "DNS:w0.example"));
  RpcClient known{house.connect(server.port(), worker), TlsHouse::known()};
  CHECK_FALSE(house.echo(known, "b"));
}

TEST_CASE("RpcServer over TLS: if only one end uses TLS, both are told at once", "[tls]") {
  TlsHouse house;
  SECTION("the server does") {
    RpcServer server{house.context.get_executor(), anywhere, tls_router(), house.options()};
    Error reason;
    RpcClient plain{loopback::connect(house.context, server.port()), {}, [&](const Error& error) { reason = error; }};
    CHECK(house.echo(plain, "a") == net_errc::no_tls);
    CHECK(reason.code == net_errc::no_tls);
    CHECK_THAT(reason.where, ContainsSubstring("this server speaks TLS only"));
    REQUIRE(house.refused.size() == 1);
    CHECK(house.refused[0].code == net_errc::no_tls);
    CHECK_THAT(house.refused[0].where, ContainsSubstring("a client that does not use TLS"));
  }
  SECTION("the client does") {
    RpcServerOptions options = house.options();
    options.transport = nullptr;
    RpcServer server{house.context.get_executor(), anywhere, tls_router(), options};
    Error error;
    CHECK_FALSE(house.try_connect(server.port(), tls_ends::ours(), error));
    CHECK(error.code == net_errc::no_tls);
    CHECK_THAT(error.where, ContainsSubstring("the peer speaks no TLS"));
    run_until(house.context, [&] { return !house.refused.empty(); });
    CHECK(house.refused[0].code == net_errc::no_tls);
    CHECK_THAT(house.refused[0].where, ContainsSubstring("127.0.0.1:") && ContainsSubstring("a client that uses TLS"));
  }
  SECTION("the client's options do, but not its stream") {
    RpcServer server{house.context.get_executor(), anywhere, tls_router()};
    CHECK_THROWS_WITH(RpcClient(loopback::connect(house.context, server.port()), TlsHouse::known()),
                      ContainsSubstring("plain stream"));
  }
}

TEST_CASE("RpcServer over TLS: destroyed with connections and handshakes", "[tls]") {
  TlsHouse house;
  using Server = RpcServer<decltype(tls_router())>;
  auto server = std::make_unique<Server>(house.context.get_executor(), anywhere, tls_router(), house.options());
  RpcClient client{house.connect(server->port()), TlsHouse::known()};
  CHECK_FALSE(house.echo(client, "a"));
  TcpSocket half = loopback::connect(house.context, server->port());
  asio::write(half, asio::buffer("\x16\x03\x01", 3));
  std::error_code end;
  client.async_call<Echo>({"never"}, {}, [&](std::error_code ec, const Text&) { end = ec; });
  house.context.poll();
  server.reset();
  run_until(house.context, [&] { return static_cast<bool>(end); });
  CHECK(end == rpc_errc::lost);
  house.context.restart();
  house.context.run();  // nothing is left
}

TEST_CASE("RpcPoolServer over TLS: connections move to the threads of their services", "[tls]") {
  TlsHouse house;
  IoPool pool{3};
  RpcServerOptions options;
  options.transport = tls_ends::ours();
  options.services = 4;
  options.greeting_within = 60s;  // on a busy machine all of this takes long
  RpcPoolServer server{pool, anywhere, [](std::size_t) { return tls_router(); }, options};
  const SharedBuffer body = stream::body(3U << 20);
  std::vector<std::unique_ptr<RpcClient>> clients;
  std::array<std::string, 24> why;
  int open = 0;
  for (std::uint32_t round = 0; round < 6; ++round)
    for (std::uint32_t service = 0; service < 4; ++service) {
      RpcClientOptions how = TlsHouse::known();
      how.service = service;
      clients.push_back(std::make_unique<RpcClient>(house.connect(server.port()), how));
      open += 2;
      // Made before the greeting is answered, so they are read ahead on the first thread.
      const CallOptions within{60s, {}, &why[round * 4 + service]};
      clients.back()->async_call<Mirror>({service, body}, within,
                                         [&, round, service](std::error_code ec, const Bulk& reply) {
                                           CAPTURE(why[round * 4 + service], round, service);
                                           CHECK_FALSE(ec);
                                           REQUIRE(reply.body != nullptr);
                                           CHECK(reply.step == service);
                                           CHECK(std::ranges::equal(reply.body->bytes(), body->bytes()));
                                           --open;
                                         });
      clients.back()->async_call<Echo>({"small"}, 60s, [&](std::error_code ec, const Text&) {
        CHECK_FALSE(ec);
        --open;
      });
    }
  run_until(house.context, [&] { return open == 0; });
}

TEST_CASE("PeerListener: half handshakes neither take all memory nor keep a good client out", "[tls]") {
  TlsHouse house;
  RpcServerOptions options = house.options();
  options.max_handshakes = 16;
  RpcServer server{house.context.get_executor(), anywhere, tls_router(), options};
  std::vector<TcpSocket> halves;
  for (int i = 0; i < 200; ++i) {
    halves.push_back(loopback::connect(house.context, server.port()));
    if (i % 3 != 0) asio::write(halves.back(), asio::buffer("\x16\x03\x01\x02\x00\x01", 6));
    if (i % 50 == 0) house.context.poll();
  }
  const auto begun = support::now();
  RpcClient good{house.connect(server.port()), TlsHouse::known()};
  CHECK_FALSE(house.echo(good, "served"));
  CHECK(support::now() - begun < 5s);
  // Those that had to go were closed.
  int closed = 0;
  for (TcpSocket& half : halves) {
    half.non_blocking(true);
    std::array<char, 1> byte{};
    std::error_code ec;
    half.read_some(asio::buffer(byte), ec);
    closed += ec == asio::error::would_block ? 0 : 1;
  }
  CHECK(closed >= 200 - 16);
}
#endif
