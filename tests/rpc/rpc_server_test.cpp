// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_server.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <asio/write.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using distrib::on;
using distrib::Router;
using distrib::rpc_errc;
using distrib::RpcClient;
using distrib::RpcServer;
using loopback::anywhere;
using messages::Bulk;
using messages::Echo;
using messages::Store;
using messages::Text;
using namespace std::chrono_literals;

namespace {}  // namespace

TEST_CASE("RpcServer: answers at once and later, many calls at a time", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::function<void()>> later;
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<Echo>([&](Text request, auto call) {
                            if (request.text.size() % 2 == 0) return call.reply(request);
                            later.emplace_back([=] { call.reply(request); });
                          }),
                          on<Store>([](Bulk request, auto call) {
                            if (request.body == nullptr || request.body->size() != request.step)
                              return call.fail(rpc_errc::bad_message, "size");
                            call.reply({});
                          })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::size_t done = 0;
  constexpr std::size_t calls = 300;
  for (std::size_t i = 0; i < calls; ++i)
    client.async_call<Echo>({std::string(i, 'x')}, {}, [&, i](std::error_code ec, Text reply) {
      CHECK_FALSE(ec);
      CHECK(reply.text.size() == i);
      ++done;
    });
  for (const std::size_t size : {10U, 10'000U, 10'000'000U})
    client.async_call<Store>({size, stream::body(size)}, 10s, [&](std::error_code ec, distrib::Empty) {
      CHECK_FALSE(ec);
      ++done;
    });
  client.async_call<Store>({5, stream::body(7)}, {}, [&](std::error_code ec, distrib::Empty) {
    CHECK(ec == rpc_errc::bad_message);
    ++done;
  });
  CHECK(done == 0);  // never inside the call
  while (done < calls / 2 + 4) context.run_one();
  CHECK(later.size() == calls / 2);
  CHECK(server.connections() == 1);
  for (const auto& answer : later) answer();
  while (done < calls + 4) context.run_one();
}

TEST_CASE("RpcServer: closes an unknown client and serves other clients meanwhile", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<Echo>([](Text request, auto call) { call.reply(request); })}};
  auto stranger = loopback::connect(context, server.port());
  const std::string garbage(4096, 'G');
  REQUIRE(stranger.send(asio::buffer(garbage)) == garbage.size());
  bool closed = false;
  std::array<char, 16> nothing{};
  stranger.async_read_some(asio::buffer(nothing), [&](std::error_code ec, std::size_t) {
    closed = static_cast<bool>(ec);
    stranger.close();
  });
  RpcClient client{loopback::connect(context, server.port())};
  bool answered = false;
  client.async_call<Echo>({"a"}, 10s, [&](std::error_code ec, Text) { answered = !ec; });
  while (!closed || !answered) context.run_one();
  while (server.connections() != 1) context.run_one();
}

TEST_CASE("RpcServer: drains, and kept calls may outlive it", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::function<void()>> kept;
  Router router{on<Echo>([&](Text request, auto call) { kept.emplace_back([=] { call.reply(request); }); })};
  auto owned = std::make_unique<RpcServer<decltype(router)>>(context.get_executor(), anywhere, router);
  RpcClient client{loopback::connect(context, owned->port())};
  std::vector<std::error_code> ends;
  for (int i = 0; i < 2; ++i) client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, Text) { ends.push_back(ec); });
  while (kept.size() < 2) context.run_one();

  owned->drain(1min);
  kept[0]();
  while (ends.empty()) context.run_one();
  CHECK_FALSE(ends[0]);
  client.async_call<Echo>({"b"}, {}, [&](std::error_code ec, Text) { ends.push_back(ec); });
  while (ends.size() < 2) context.run_one();
  CHECK(ends[1] == rpc_errc::closed);

  owned.reset();
  kept[1]();  // without effect
  context.run();
  REQUIRE(ends.size() == 3);
  CHECK(ends[2] == rpc_errc::lost);
}

TEST_CASE("RpcServer: a call of an unknown method fails", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router<>{}};
  RpcClient client{loopback::connect(context, server.port())};
  std::error_code end;
  client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, Text) { end = ec; });
  while (!end) context.run_one();
  CHECK(end == rpc_errc::unknown_method);
}

TEST_CASE("RpcServer: with a shared secret", "[rpc]") {
  asio::io_context context{1};
  const auto with = [](std::string_view text) { return distrib::SharedSecret::from_bytes(distrib::as_bytes(text)); };
  distrib::RpcServerOptions options;
  options.secret = with("sixteen bytes ok");
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<Echo>([](Text request, auto call) { call.reply(request); })}, options};
  distrib::RpcClientOptions known;
  known.secret = with("sixteen bytes ok");
  distrib::RpcClientOptions other;
  other.secret = with("sixteen bytes no");
  std::vector<std::pair<std::error_code, std::string>> ends;
  for (const auto& how : {known, other, distrib::RpcClientOptions{}}) {
    RpcClient client{loopback::connect(context, server.port()), how};
    const std::size_t before = ends.size();
    for (int i = 0; i < 2; ++i)
      client.async_call<Echo>({"a"}, 10s, [&](std::error_code ec, Text reply) { ends.emplace_back(ec, reply.text); });
    while (ends.size() < before + 2) context.run_one();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(ends[i].second == "a");
    CHECK(ends[2 + i].first == rpc_errc::unauthorized);
    CHECK(ends[4 + i].first == rpc_errc::unauthorized);
  }
  while (server.connections() != 0) context.run_one();
}

TEST_CASE("RpcServer: a client that does not read costs limited memory, and gets every answer when it reads", "[rpc]") {
  // All requests arrive in one read, so what waits is in the server's memory and the socket has nothing more.
  constexpr std::uint64_t calls = 512;
  constexpr std::size_t size = 256 << 10;
  asio::io_context context{1};
  const auto reply = stream::body(size);
  distrib::RpcServerOptions options;
  options.owed_bytes = std::size_t{1} << 20;
  std::uint64_t answered = 0;
  RpcServer server{context.get_executor(), anywhere, Router{on<Echo>([&](Text, auto call) {
                     ++answered;
                     call.connection()->reply(call.id(), {}, distrib::FrameBody{reply});
                   })},
                   options};
  auto peer = loopback::connect(context, server.port());
  peer.set_option(asio::socket_base::receive_buffer_size{64 << 10});
  distrib::ClientCore core{{}, std::chrono::steady_clock::now()};
  for (std::uint64_t i = 0; i < calls; ++i)
    static_cast<void>(core.call(Echo::id, {}, nullptr, {}, std::chrono::steady_clock::now()));
  const auto requests = stream::take_output(core, std::chrono::steady_clock::now());
  CHECK(requests.size() < 64 << 10);
  asio::write(peer, asio::buffer(requests));

  // The server stops: the system accepts some bytes, `owed_bytes` wait, and nothing is left to do.
  while (answered == 0) context.run_one();
  while (context.poll() != 0) {
  }
  const std::uint64_t at_rest = answered;
  CHECK(at_rest < calls / 2);
  // the test's reference, and the answers that wait
  CHECK(reply.use_count() <= 1 + 1 + static_cast<long>(options.owed_bytes / size) + 1);

  std::size_t received = 0;
  const std::size_t expected = distrib::frame_header_bytes + size + distrib::frame_checksum_bytes;
  std::vector<char> part(1 << 20);
  bool ended = false;
  const std::function<void()> read = [&] {
    peer.async_read_some(asio::buffer(part), [&](std::error_code ec, std::size_t count) {
      received += count;
      ended = static_cast<bool>(ec);
      if (!ec && received < calls * expected) read();
    });
  };
  read();
  while (received < calls * expected && !ended) context.run_one();
  CHECK(answered == calls);
  CHECK_FALSE(ended);
}

TEST_CASE("RpcServer: an exception of a handler leaves run and fails its call; the connection continues", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Echo>([](Text request, auto call) {
                     if (request.text == "throw") throw std::runtime_error{"the handler's own"};
                     call.reply(request);
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::vector<std::string> answers;
  const auto keep = [&](std::error_code, const Text& reply) { answers.push_back(reply.text); };
  std::error_code broken;
  client.async_call<Echo>({"throw"}, {}, [&](std::error_code ec, const Text&) { broken = ec; });
  client.async_call<Echo>({"of the same read"}, {}, keep);
  client.async_call<Echo>({std::string(5'000, 'l')}, {}, keep);
  CHECK_THROWS_WITH(context.run(), Equals("the handler's own"));
  while (answers.size() < 2) context.run_one();
  CHECK(broken == distrib::failure::io);
  CHECK(answers[0] == "of the same read");
  // The same at the client.
  const auto fail = [](std::error_code, const Text&) { throw std::runtime_error{"the caller's own"}; };
  client.async_call<Echo>({"a"}, {}, fail);
  client.async_call<Echo>({"b"}, {}, keep);
  CHECK_THROWS_WITH(context.run(), Equals("the caller's own"));
  client.async_call<Echo>({"c"}, {}, keep);
  while (answers.size() < 4) context.run_one();
  CHECK(answers[2] == "b");
  CHECK(answers[3] == "c");
}

TEST_CASE("RpcServer: a long error text is shortened, and breaks no other call", "[rpc]") {
  asio::io_context context{1};
  std::function<void()> answer;
  RpcServer server{context.get_executor(), anywhere, Router{on<Echo>([&](const Text& text, auto call) {
                     if (text.text == "wait") answer = [=] { call.reply(text); };
                     else call.fail(rpc_errc::bad_message, std::string(3U << 20, 'x'));
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> other;
  std::optional<std::error_code> end;
  std::string text;
  client.async_call<Echo>({"wait"}, {}, [&](std::error_code ec, const Text&) { other = ec; });
  client.async_call<Echo>({"fail"}, {{}, {}, &text}, [&](std::error_code ec, const Text&) { end = ec; });
  while (!end) context.run_one();
  CHECK(*end == rpc_errc::bad_message);
  CHECK(text.size() == 1U << 20);
  answer();
  while (!other) context.run_one();
  CHECK_FALSE(*other);
}

namespace {

/// A sink that calls a function when it is destroyed.
struct Watch {
  std::unique_ptr<std::function<void()>> dropped;
  explicit Watch(const std::function<void()>& what) : dropped{std::make_unique<std::function<void()>>(what)} {}
  Watch(Watch&&) = default;
  auto operator=(Watch&&) -> Watch& = default;
  ~Watch() {
    if (dropped != nullptr) (*dropped)();
  }
  void chunk(distrib::ByteView) const {}
  void end() const {}
};

/// Throws when a connection has ended.
struct ThrowsAtEnd {
  using Handler = std::function<void(distrib::ServerStream<messages::Sum, distrib::ServerConnection>)>;
  distrib::Router<distrib::detail::Route<messages::Sum, Handler>> router;
  void dispatch(const distrib::ServerConnection& connection, const distrib::ServerEvent& event) {
    router.dispatch(connection, event);
  }
  void closed(const distrib::ServerConnection&) const { throw std::runtime_error{"the end"}; }
};

}  // namespace

TEST_CASE("RpcServer: its destruction may end a call of another connection that drains", "[rpc]") {
  asio::io_context context{1};
  std::function<void()> fail_other = [] {};
  bool began = false;
  const auto routes = [&] {
    return Router{on<Echo>([&](const Text&, auto call) { fail_other = [=] { call.fail(rpc_errc::exhausted); }; }),
                  distrib::on_chunks<Store>([&](const Bulk&, auto, std::size_t) {
                    began = true;
                    return Watch{[&] { fail_other(); }};
                  })};
  };
  std::optional<RpcServer<decltype(routes())>> server;
  server.emplace(context.get_executor(), anywhere, routes());
  RpcClient one{loopback::connect(context, server->port())};
  RpcClient two{loopback::connect(context, server->port())};
  int ended = 0;
  one.async_call<Store>({1, stream::body(1'000'000)}, {},
                        [&](std::error_code ec, distrib::Empty) { ended += bool{ec}; });
  while (!began) context.run_one();
  two.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { ended += bool{ec}; });
  while (server->connections() < 2) context.run_one();
  const auto by = std::chrono::steady_clock::now() + 200ms;  // by then the second request has arrived
  while (std::chrono::steady_clock::now() < by) context.poll();
  server->drain(10s);
  server.reset();
  while (ended < 2) context.run_one();
}

TEST_CASE("RpcServer: if closed of the router throws, the streams of the connection still end", "[rpc]") {
  asio::io_context context{1};
  std::optional<std::error_code> read;
  bool began = false;
  const std::function handle = [&](distrib::ServerStream<messages::Sum, distrib::ServerConnection> stream) {
    began = true;
    stream.async_read([&, stream](std::error_code ec, const std::optional<Bulk>&) { read = ec; });
  };
  RpcServer server{context.get_executor(), anywhere, ThrowsAtEnd{Router{on<messages::Sum>(handle)}}};
  {
    RpcClient client{loopback::connect(context, server.port())};
    auto stream = client.open<messages::Sum>();
    while (!began) context.run_one();
  }
  CHECK_THROWS_WITH(context.run(), Equals("the end"));
  while (!read) context.run_one();
  CHECK(*read == rpc_errc::closed);
}
