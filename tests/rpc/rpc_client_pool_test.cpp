// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_client_pool.hpp>

#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using distrib::Address;
using distrib::Event;
using distrib::net_errc;
using distrib::rpc_errc;
using distrib::RpcClientPool;
using distrib::RpcClientPoolOptions;
using messages::Echo;
using messages::Store;
using messages::Text;
using support::run_until;
using namespace std::chrono_literals;

namespace {

struct EchoAgain : distrib::Method<"test.EchoAgain", Text, Text> {
  static constexpr bool idempotent = true;
};

/// A message that cannot be encoded if it is "throw".
struct Throws : Text {
  void encode(distrib::WireWriter& head) const {
    if (text == "throw") throw std::runtime_error{"not to be said"};
    Text::encode(head);
  }
};
struct EchoThrows : distrib::Method<"test.Echo", Throws, Text> {};

auto on_store() {
  return distrib::on<Store>([](const messages::Bulk&) { return distrib::Empty{}; });
}

/// Answers calls, but keeps "keep" until the test answers it, and closes the connection at "break".
struct Server {
  using Connection = distrib::ServerConnection;

  struct Handlers {
    Server* server;
    template <class Call>
    void operator()(Text request, Call call) const {
      ++server->calls[request.text];
      ++server->on[call.connection().get()];
      if (request.text == "break") return call.connection()->close();
      if (request.text != "keep") return call.reply(request);
      server->kept.emplace_back([=] { call.reply(request); });
    }
  };
  template <class M>
  using Route = distrib::detail::Route<M, Handlers>;
  using Router = distrib::Router<Route<Echo>, Route<EchoAgain>>;

  Server(asio::io_context& context, std::uint16_t port, const distrib::RpcServerOptions& options = {})
      : rpc{context.get_executor(),
            {"127.0.0.1", port},
            Router{distrib::on<Echo>(Handlers{this}), distrib::on<EchoAgain>(Handlers{this})},
            options} {}

  std::map<std::string, int> calls;
  std::map<const void*, int> on;  // number of calls, by connection
  std::vector<std::function<void()>> kept;
  distrib::RpcServer<Router> rpc;
};

/// A port of this machine on which no process listens, and no other process can.
struct Port {
  explicit Port(asio::io_context& context) : acceptor{context.get_executor()} {
    acceptor.open(asio::ip::tcp::v4());
    acceptor.set_option(asio::socket_base::reuse_address{true});
    acceptor.bind(support::loopback());
    number = acceptor.local_endpoint().port();
  }
  [[nodiscard]] auto address() const -> Address { return {"127.0.0.1", number}; }
  support::Acceptor acceptor;
  std::uint16_t number;
};

/// The results of calls, in the order in which they ended.
struct Ends {
  struct End {
    std::error_code code;
    std::string text;
  };
  std::vector<End> ends;
  [[nodiscard]] auto size() const { return ends.size(); }
  auto operator[](std::size_t i) const -> const End& { return ends[i]; }

  struct Handler {
    Ends* to;
    void operator()(const std::error_code& code, const Text& reply) const { to->ends.push_back({code, reply.text}); }
  };
  auto operator()() -> Handler { return {this}; }
};

/// The events that an observer has received.
struct ToldEvents {
  std::vector<Event> events;
  [[nodiscard]] auto count(Event::Kind kind) const {
    return std::count_if(events.begin(), events.end(), [kind](const Event& event) { return event.kind == kind; });
  }
};

auto quick(ToldEvents& told) -> RpcClientPoolOptions {
  RpcClientPoolOptions options;
  options.backoff = {.first = 1ms, .longest = 2ms};
  options.seed = 1;
  options.observer = [&told](const Event& event) { told.events.push_back(event); };
  return options;
}

/// Returns the greeting of a server.
auto greeting_bytes() -> stream::Bytes {
  distrib::Greeting greeting;
  greeting.max_calls = 100;
  const auto head = greeting.encode();
  return stream::frame({distrib::FrameKind::greeting}, distrib::as_text(distrib::ByteView{head}));
}

}  // namespace

TEST_CASE("RpcClientPool: calls wait for a server that starts late", "[rpc]") {
  asio::io_context context{1};
  Port port{context};
  ToldEvents told;
  RpcClientPool pool{context.get_executor(), port.address(), quick(told)};
  Ends ends;
  pool.async_call<Echo>({"a"}, {}, ends());
  pool.async_call<Echo>({"b"}, 60s, ends());
  CHECK(pool.waiting() == 2);
  run_until(context, [&] { return told.count(Event::Kind::waiting) == 5; });
  CHECK(told.events[0].code == net_errc::refused);
  CHECK(told.events[0].peer == port.address().to_string());
  CHECK(ends.size() == 0);
  port.acceptor.close();
  Server server{context, port.number};
  run_until(context, [&] { return ends.size() == 2; });
  CHECK(ends[0].text == "a");
  CHECK(ends[1].text == "b");
  CHECK(told.count(Event::Kind::connected) == 1);
  CHECK(pool.connections() == 1);
  CHECK(pool.waiting() == 0);
}

TEST_CASE("RpcClientPool: when a server ends and is started again, only idempotent calls are repeated", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  std::optional<Server> server{std::in_place, context, std::uint16_t{0}};
  const std::uint16_t port = server->rpc.port();
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", port}, quick(told)};
  Ends once;
  Ends again;
  pool.async_call<Echo>({"keep"}, {}, once());
  pool.async_call<EchoAgain>({"keep"}, 60s, again());
  run_until(context, [&] { return server->kept.size() == 2; });
  server.reset();
  run_until(context, [&] { return told.count(Event::Kind::waiting) > 0; });
  REQUIRE(once.size() == 1);
  CHECK(once[0].code == rpc_errc::lost);
  CHECK(again.size() == 0);
  CHECK(pool.waiting() == 1);
  CHECK(told.events[1].kind == Event::Kind::lost);
  CHECK(told.events[1].code == rpc_errc::lost);

  server.emplace(context, port);
  run_until(context, [&] { return server->kept.size() == 1; });
  server->kept[0]();
  pool.async_call<Echo>({"a"}, {}, once());
  run_until(context, [&] { return again.size() == 1 && once.size() == 2; });
  CHECK(again[0].text == "keep");
  CHECK(once[1].text == "a");
}

TEST_CASE("RpcClientPool: a server that fails on every call gets no more repeats than the options allow", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server server{context, 0};
  RpcClientPoolOptions options = quick(told);
  options.retry = {.most_attempts = 4, .most_tokens = 5};
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", server.rpc.port()}, options};
  Ends ends;
  for (const int expected : {4, 7}) {  // after 5 repeats there are no tokens
    pool.async_call<EchoAgain>({"break"}, {}, ends());
    run_until(context, [&] { return ends.size() == (expected == 4 ? 1U : 2U); });
    CHECK(ends.ends.back().code == rpc_errc::lost);
    CHECK(server.calls["break"] == expected);
  }
}

TEST_CASE("RpcClientPool: a call that was not sent is repeated, also if it is not idempotent", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  auto acceptor = std::make_optional<support::Acceptor>(context, support::loopback());
  const std::uint16_t port = acceptor->local_endpoint().port();
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", port}, quick(told)};
  std::optional<distrib::TcpSocket> peer;
  acceptor->async_accept([&](std::error_code, distrib::TcpSocket socket) {
    peer.emplace(std::move(socket));
    peer->send(asio::buffer(greeting_bytes()));
  });
  run_until(context, [&] { return pool.connections() == 1; });
  std::error_code stored;
  pool.async_call<Store>({1, stream::body(64 << 20)}, {},
                         [&](std::error_code ec, const distrib::Empty&) { stored = ec; });
  for (int i = 0; i < 10; ++i) context.poll();  // the peer does not read, so the system accepts only a part
  Ends ends;
  pool.async_call<Echo>({"a"}, {}, ends());
  context.poll();
  CHECK(ends.size() == 0);
  acceptor.reset();
  Server server{context, port};
  peer.reset();
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(stored == rpc_errc::lost);
  CHECK(ends[0].text == "a");
  CHECK(server.calls["a"] == 1);
}

TEST_CASE("RpcClientPool: a server that drains is replaced while its calls are answered", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server old{context, 0};
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", old.rpc.port()}, quick(told)};
  Ends kept;
  Ends ends;
  pool.async_call<Echo>({"keep"}, {}, kept());
  run_until(context, [&] { return old.kept.size() == 1; });
  const std::uint16_t port = old.rpc.port();
  old.rpc.drain(std::chrono::minutes{1});
  pool.async_call<Echo>({"a"}, {}, ends());  // the goodbye is not read yet: the call is refused, and repeated
  Server fresh{context, port};
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(ends[0].text == "a");
  CHECK(old.calls["a"] == 0);
  CHECK(fresh.calls["a"] == 1);
  CHECK(kept.size() == 0);
  CHECK(told.count(Event::Kind::lost) == 1);
  CHECK(told.events[1].code == rpc_errc::closed);
  old.kept[0]();
  run_until(context, [&] { return kept.size() == 1 && old.rpc.connections() == 0; });
  CHECK(kept[0].text == "keep");
  CHECK(pool.connections() == 1);
  CHECK(told.count(Event::Kind::lost) == 1);
}

TEST_CASE("RpcClientPool: a call goes to the connection with the fewest calls, and waits if all are full", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  distrib::RpcServerOptions two;
  two.max_calls = 2;
  Server server{context, 0, two};
  RpcClientPoolOptions options = quick(told);
  options.connections = 3;
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", server.rpc.port()}, options};
  run_until(context, [&] { return pool.connections() == 3; });
  Ends ends;
  for (int i = 0; i < 3; ++i) pool.async_call<Echo>({"keep"}, {}, ends());
  run_until(context, [&] { return server.kept.size() == 3; });
  CHECK(server.on.size() == 3);
  for (int i = 0; i < 4; ++i) pool.async_call<Echo>({"keep"}, {}, ends());
  pool.async_call<Echo>({"last"}, {}, ends());
  CHECK(pool.waiting() == 2);
  run_until(context, [&] { return server.kept.size() == 6; });
  REQUIRE(server.on.size() == 3);
  for (const auto& [connection, calls] : server.on) CHECK(calls == 2);
  server.kept[0]();
  run_until(context, [&] { return server.kept.size() == 7; });
  CHECK(pool.waiting() == 1);
  for (std::size_t i = 1; i < 7; ++i) server.kept[i]();
  run_until(context, [&] { return ends.size() == 8; });
  CHECK(server.calls["last"] == 1);
  for (const auto& end : ends.ends) CHECK_FALSE(end.code);
}

TEST_CASE("RpcClientPool: max_waiting and connect_within limit how many calls wait, and how long", "[rpc]") {
  asio::io_context context{1};
  Port port{context};
  ToldEvents told;
  RpcClientPoolOptions options = quick(told);
  options.max_waiting = 2;
  options.connect_within = 20ms;
  SECTION("no process listens") {
    RpcClientPool pool{context.get_executor(), port.address(), options};
    Ends waited;
    Ends refused;
    pool.async_call<Echo>({"a"}, {}, waited());
    pool.async_call<Echo>({"a"}, 10ms, waited());
    pool.async_call<Echo>({"a"}, {}, refused());
    CHECK(refused.size() == 0);  // never inside the call
    run_until(context, [&] { return waited.size() == 2 && refused.size() == 1; });
    CHECK(refused[0].code == rpc_errc::exhausted);
    CHECK(waited[0].code == net_errc::refused);
    CHECK(waited[1].code == net_errc::refused);
    CHECK(pool.waiting() == 0);
  }
  SECTION("a process listens but does not greet") {
    port.acceptor.listen();
    RpcClientPool pool{context.get_executor(), port.address(), options};
    Ends ends;
    pool.async_call<Echo>({"a"}, 1ms, ends());
    run_until(context, [&] { return ends.size() == 1; });
    CHECK(ends[0].code == rpc_errc::deadline_passed);
    pool.async_call<Echo>({"a"}, {}, ends());
    run_until(context, [&] { return ends.size() == 2; });
    CHECK(ends[1].code == net_errc::timed_out);
    CHECK(told.events.empty());
  }
  SECTION("after longest_try the next attempt follows") {
    port.acceptor.listen();
    options.longest_try = 1ms;
    options.connect_within = 60s;
    RpcClientPool pool{context.get_executor(), port.address(), options};
    run_until(context, [&] { return told.count(Event::Kind::waiting) == 3; });
    CHECK((told.events[2].code == rpc_errc::silent || told.events[2].code == net_errc::timed_out));
  }
  SECTION("all connections are full") {
    port.acceptor.close();
    Server server{context, port.number};
    options.client.max_calls = 1;
    RpcClientPool pool{context.get_executor(), port.address(), options};
    Ends ends;
    pool.async_call<Echo>({"keep"}, {}, ends());
    pool.async_call<Echo>({"a"}, {}, ends());
    run_until(context, [&] { return ends.size() == 1; });
    CHECK(ends[0].code == rpc_errc::exhausted);
    CHECK(server.calls["a"] == 0);
  }
}

TEST_CASE("RpcClientPool: with fail_fast, calls fail at once after a failed attempt to connect", "[rpc]") {
  asio::io_context context{1};
  Port port{context};
  ToldEvents told;
  RpcClientPoolOptions options = quick(told);
  options.fail_fast = true;
  RpcClientPool pool{context.get_executor(), port.address(), options};
  Ends ends;
  pool.async_call<Echo>({"a"}, {}, ends());  // no attempt has failed yet
  CHECK(pool.waiting() == 1);
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(ends[0].code == net_errc::refused);
  pool.async_call<Echo>({"a"}, {}, ends());
  CHECK(pool.waiting() == 0);
  CHECK(ends.size() == 1);
  run_until(context, [&] { return ends.size() == 2; });
  CHECK(ends[1].code == net_errc::refused);
  port.acceptor.close();
  Server server{context, port.number};
  run_until(context, [&] { return pool.connections() == 1; });
  pool.async_call<Echo>({"a"}, {}, ends());
  run_until(context, [&] { return ends.size() == 3; });
  CHECK_FALSE(ends[2].code);
}

TEST_CASE("RpcClientPool: when it is destroyed, each call ends once", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server server{context, 0};
  RpcClientPoolOptions options = quick(told);
  options.client.max_calls = 1;
  Ends ends;
  std::optional<RpcClientPool> pool;
  rpc_errc in_flight = rpc_errc::closed;  // the code of the call that does not wait
  const auto make = [&] {
    pool.emplace(context.get_executor(), Address{"127.0.0.1", server.rpc.port()}, options);
    pool->async_call<EchoAgain>({"keep"}, {}, ends());
    pool->async_call<EchoAgain>({"waits"}, {}, ends());
  };
  SECTION("before the context runs") {
    make();
    pool.reset();
  }
  SECTION("with one call in flight and another that waits") {
    make();
    run_until(context, [&] { return server.kept.size() == 1; });
    pool.reset();
    in_flight = rpc_errc::lost;
  }
  SECTION("destroyed by its observer") {
    options.observer = [&](const Event&) { pool.reset(); };
    make();
    run_until(context, [&] { return !pool; });
    in_flight = rpc_errc::not_sent;
  }
  SECTION("destroyed inside the completion of a call") {
    make();
    run_until(context, [&] { return server.kept.size() == 1; });
    std::error_code last;
    pool->async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { last = ec; });
    server.kept[0]();
    run_until(context, [&] { return ends.size() == 1; });
    CHECK_FALSE(ends[0].code);
    ends.ends.clear();
    pool->async_call<EchoAgain>({"keep"}, {}, ends());
    pool.reset();
    run_until(context, [&] { return ends.size() == 2 && last == rpc_errc::closed; });
    CHECK(ends[0].code == rpc_errc::closed);
    CHECK(ends[1].code == rpc_errc::lost);
    return;
  }
  CHECK(ends.size() == 0);  // never inside the destructor
  run_until(context, [&] { return ends.size() == 2; });
  for (int i = 0; i < 10; ++i) context.poll();
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].code == rpc_errc::closed);
  CHECK(ends[1].code == in_flight);
}

TEST_CASE("RpcClientPool: calls can be cancelled, waiting or in flight", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server server{context, 0};
  RpcClientPoolOptions options = quick(told);
  options.client.max_calls = 1;
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", server.rpc.port()}, options};
  Ends ends;
  asio::cancellation_signal flies;
  asio::cancellation_signal waits;
  pool.async_call<EchoAgain>({"keep"}, {}, asio::bind_cancellation_slot(flies.slot(), ends()));
  pool.async_call<EchoAgain>({"a"}, {}, asio::bind_cancellation_slot(waits.slot(), ends()));
  run_until(context, [&] { return server.kept.size() == 1; });
  waits.emit(asio::cancellation_type::terminal);
  CHECK(pool.waiting() == 0);
  CHECK(ends.size() == 0);
  run_until(context, [&] { return ends.size() == 1; });
  flies.emit(asio::cancellation_type::total);
  run_until(context, [&] { return ends.size() == 2; });
  for (const auto& end : ends.ends) CHECK(end.code == rpc_errc::cancelled);
  flies.emit(asio::cancellation_type::terminal);  // too late: the call is over
  pool.async_call<EchoAgain>({"b"}, {}, ends());
  run_until(context, [&] { return ends.size() == 3; });
  CHECK(ends[2].text == "b");
}

TEST_CASE("RpcClientPool: handlers that can only be moved, and deferred calls", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server server{context, 0};
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", server.rpc.port()}, quick(told)};
  std::string text;
  auto later = pool.async_call<Echo>({"a"}, {10s, "metadata"}, distrib::deferred);
  run_until(context, [&] { return pool.connections() == 1; });
  CHECK(server.calls.empty());
  std::move(later)([&text, mine = std::make_unique<int>(3)](std::error_code, const Text& reply) { text = reply.text; });
  run_until(context, [&] { return text == "a"; });
  CHECK_THROWS_AS((RpcClientPool{context.get_executor(), {"127.0.0.1", 0}}), std::system_error);
}

TEST_CASE("RpcClientPool: the text beside a code reaches a caller that asks for it", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  const Port port{context};
  RpcClientPool pool{context.get_executor(), port.address(), quick(told)};
  Ends ends;
  std::string nobody;
  pool.async_call<Echo>({"a"}, {20ms, "", &nobody}, ends());
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(nobody == port.address().to_string());

  const auto refuse = [](const Text&, auto call) { call.fail(rpc_errc::exhausted, "rank 3 has no room"); };
  distrib::RpcServer server{
      context.get_executor(), {"127.0.0.1", port.number}, distrib::Router{distrib::on<Echo>(refuse)}};
  std::string handler;
  pool.async_call<Echo>({"a"}, {10s, "", &handler}, ends());
  run_until(context, [&] { return ends.size() == 2; });
  CHECK(ends[1].code == rpc_errc::exhausted);
  CHECK(handler == "rank 3 has no room");
}

TEST_CASE("RpcClientPool: after the pool is destroyed, error_text is not written", "[rpc]") {
  asio::io_context context{1};
  const Port port{context};
  ToldEvents told;
  std::optional<RpcClientPool> pool{std::in_place, context.get_executor(), port.address(), quick(told)};
  Ends ends;
  std::string text = "mine";
  pool->async_call<Echo>({"a"}, {60s, "", &text}, ends());
  pool.reset();
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(text == "mine");
}

TEST_CASE("RpcClientPool: a call that an earlier attempt may have carried out fails with lost", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  std::optional<Server> server{std::in_place, context, std::uint16_t{0}};
  const Address address{"127.0.0.1", server->rpc.port()};
  RpcClientPoolOptions options = quick(told);
  options.connect_within = 20ms;
  Ends ends;
  std::optional<RpcClientPool> pool{std::in_place, context.get_executor(), address, options};
  pool->async_call<EchoAgain>({"keep"}, {}, ends());
  run_until(context, [&] { return server->kept.size() == 1; });
  server.reset();
  SECTION("no server exists for the repeat") {}
  SECTION("the repeat waits when the pool is destroyed") {
    run_until(context, [&] { return pool->waiting() == 1; });
    pool.reset();
  }
  SECTION("a server refuses the repeat") {
    distrib::RpcServer refuses{context.get_executor(), address, distrib::Router{on_store()}};
    run_until(context, [&] { return ends.size() == 1; });
  }
  SECTION("a server answers the repeat with an error") {
    const auto fail = [](const Text&, auto call) { call.fail(std::make_error_code(std::errc::file_exists), ""); };
    distrib::RpcServer answers{context.get_executor(), address, distrib::Router{distrib::on<EchoAgain>(fail)}};
    run_until(context, [&] { return ends.size() == 1; });
    CHECK(ends[0].code != rpc_errc::lost);
    return;
  }
  run_until(context, [&] { return ends.size() == 1; });
  CHECK(ends[0].code == rpc_errc::lost);
}

TEST_CASE("RpcClientPool: a request whose codec throws fails no other call", "[rpc]") {
  asio::io_context context{1};
  ToldEvents told;
  Server server{context, 0};
  RpcClientPoolOptions options = quick(told);
  options.client.max_calls = 1;
  RpcClientPool pool{context.get_executor(), {"127.0.0.1", server.rpc.port()}, options};
  run_until(context, [&] { return pool.connections() == 1; });
  Ends ends;
  pool.async_call<EchoThrows>({{"a"}}, {}, ends());
  pool.async_call<EchoThrows>({{"throw"}}, {}, ends());  // waits for the connection to be free
  pool.async_call<EchoThrows>({{"b"}}, {}, ends());
  CHECK_THROWS_WITH(context.run(), "not to be said");
  run_until(context, [&] { return ends.size() == 3; });
  CHECK(ends[0].text == "a");
  CHECK(ends[1].code == rpc_errc::bad_message);
  CHECK(ends[2].text == "b");
}

TEST_CASE("RpcClientPool: the longest time means without a limit", "[rpc]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  asio::io_context context{1};
  Port port{context};
  ToldEvents told;
  RpcClientPoolOptions options = quick(told);
  options.longest_try = for_ever;
  Ends ends;
  SECTION("in the options") {
    options.connect_within = for_ever;
    RpcClientPool pool{context.get_executor(), port.address(), options};
    pool.async_call<Echo>({"a"}, {}, ends());
    run_until(context, [&] { return told.count(Event::Kind::waiting) == 3; });
    CHECK(pool.waiting() == 1);
    port.acceptor.close();
    Server server{context, port.number};
    run_until(context, [&] { return ends.size() == 1; });
    CHECK(ends[0].text == "a");
  }
  SECTION("as deadline of a call: it waits longer than a call without a deadline") {
    options.connect_within = 1ms;
    RpcClientPool pool{context.get_executor(), port.address(), options};
    pool.async_call<Echo>({"a"}, {}, ends());
    pool.async_call<Echo>({"a"}, for_ever, ends());
    run_until(context, [&] { return told.count(Event::Kind::waiting) == 5; });
    CHECK(ends.size() == 1);
    CHECK(pool.waiting() == 1);
  }
}
