// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_client.hpp>

#include <distrib/net/io_pool.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using distrib::CallOptions;
using distrib::on;
using distrib::Router;
using distrib::rpc_errc;
using distrib::RpcClient;
using distrib::RpcServer;
using loopback::anywhere;
using messages::Bulk;
using messages::Echo;
using messages::Fetch;
using messages::Text;
using namespace std::chrono_literals;

namespace {

auto echo_server(asio::io_context& context) {
  const auto answer = [](Text request, auto call) {
    if (request.text != "never") call.reply(request);
  };
  Router router{on<Echo>(answer)};
  return std::make_unique<RpcServer<decltype(router)>>(context.get_executor(), anywhere, router);
}

}  // namespace

TEST_CASE("RpcClient: a deadline ends only its own call", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  std::vector<std::string> story;
  client.async_call<Echo>({"never"}, 20ms, [&](std::error_code ec, Text) { story.push_back(ec.message()); });
  client.async_call<Echo>({"a"}, 20s, [&](std::error_code, Text reply) { story.push_back(reply.text); });
  while (story.size() < 2) context.run_one();
  std::ranges::sort(story);  // which comes first depends on the load of the machine
  CHECK(story == std::vector<std::string>{"a", make_error_code(rpc_errc::deadline_passed).message()});
  client.async_call<Echo>({"b"}, {}, [&](std::error_code, Text reply) { story.push_back(reply.text); });
  while (story.size() < 3) context.run_one();
  CHECK(story.back() == "b");
}

TEST_CASE("RpcClient: a call made inside a completion, a thousand times in a row", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  int calls = 0;
  std::function<void(std::error_code, Text)> again = [&](std::error_code ec, Text) {
    CHECK_FALSE(ec);
    if (++calls < 1000) client.async_call<Echo>({"a"}, {}, again);
  };
  client.async_call<Echo>({"a"}, {}, again);
  while (calls < 1000) context.run_one();
}

TEST_CASE("RpcClient: when the connection is lost, every call ends once, then closed is called", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  int closed = 0;
  int ended = 0;
  RpcClient client{loopback::connect(context, server->port()), {}, [&](const distrib::Error& reason) {
                     CHECK(reason.code == rpc_errc::lost);
                     CHECK(ended == 2);
                     ++closed;
                   }};
  const auto end = [&](std::error_code ec, Text) {
    CHECK(ec == rpc_errc::lost);
    ++ended;
  };
  client.async_call<Echo>({"never"}, {}, end);
  client.async_call<Echo>({"never"}, {}, end);
  bool answered = false;
  client.async_call<Echo>({"a"}, {}, [&](std::error_code, Text) { answered = true; });
  while (!answered) context.run_one();
  server.reset();
  while (closed == 0) context.run_one();
  // A retry inside the completion of a failed call: it is refused later, so there is no recursion.
  int refused = 0;
  int depth = 0;
  int deepest = 0;
  std::function<void(std::error_code, Text)> retry = [&](std::error_code ec, Text) {
    if (ec != rpc_errc::closed) FAIL(ec.message());
    deepest = std::max(deepest, ++depth);
    if (++refused < 100'000) client.async_call<Echo>({"a"}, {}, retry);
    --depth;
  };
  client.async_call<Echo>({"a"}, {}, retry);
  CHECK(refused == 0);
  while (refused < 100'000) context.run_one();
  CHECK(deepest == 1);
  CHECK(closed == 1);
}

TEST_CASE("RpcClient: when it is destroyed, its calls in flight end with lost", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  std::vector<std::error_code> ends;
  {
    RpcClient client{
        loopback::connect(context, server->port()), {}, [](const distrib::Error&) { FAIL("closed was called"); }};
    for (int i = 0; i < 3; ++i)
      client.async_call<Echo>({"never"}, {}, [&](std::error_code ec, Text) { ends.push_back(ec); });
    context.poll();
  }
  CHECK(ends.empty());
  while (ends.size() < 3) context.run_one();
  for (const std::error_code ec : ends) CHECK(ec == rpc_errc::lost);
}

TEST_CASE("RpcClient: may be destroyed inside a completion, on a thread of a pool", "[rpc]") {
  distrib::IoPool pool{1};
  std::promise<std::string> heard;
  std::optional<RpcServer<Router<>>> server;
  std::optional<RpcClient> client;
  std::promise<std::error_code> ended;
  asio::post(pool.executor(0), [&] {
    server.emplace(pool.executor(0), anywhere, Router<>{});
    distrib::TcpSocket socket{pool.executor(0)};
    socket.connect({asio::ip::address_v4::loopback(), server->port()});
    client.emplace(std::move(socket));
    client->async_call<Echo>({"a"}, {}, [&](std::error_code ec, Text) {
      client.reset();
      server.reset();
      ended.set_value(ec);
    });
  });
  CHECK(ended.get_future().get() == rpc_errc::unknown_method);
}

namespace {

/// Answers with the metadata of the call; does not answer "never".
struct Told {
  std::vector<std::uint64_t> cancelled;
  void dispatch(const distrib::ServerConnection& connection, const distrib::ServerEvent& event) {
    router.dispatch(connection, event);
  }
  void happened(const distrib::ServerConnection&, const distrib::ServerEvent& event) {
    if (event.kind == distrib::ServerEvent::Kind::cancelled) cancelled.push_back(event.call);
  }
  static void echo(const Text& request, const auto& call) {
    if (request.text != "never") call.reply({std::string{distrib::as_text(call.metadata())}});
  }
  Router<distrib::detail::Route<Echo, void (*)(Text, distrib::Call<Echo, distrib::ServerConnection>)>> router{
      distrib::on<Echo>(
          +[](Text request, distrib::Call<Echo, distrib::ServerConnection> call) { echo(request, call); })};
};

}  // namespace

TEST_CASE("RpcClient: metadata, and calls that Asio's cancellation cancels", "[rpc]") {
  asio::io_context context{1};
  distrib::RpcServer<Told> server{context.get_executor(), anywhere, Told{}};
  RpcClient client{loopback::connect(context, server.port())};
  int open = 3;
  asio::cancellation_signal first;
  asio::cancellation_signal second;
  client.async_call<Echo>({"never"}, {}, asio::bind_cancellation_slot(first.slot(), [&](std::error_code ec, Text) {
                            CHECK(ec == rpc_errc::cancelled);
                            --open;
                          }));
  client.async_call<Echo>({"a"}, {10s, "who I am"},
                          asio::bind_cancellation_slot(second.slot(), [&](std::error_code ec, Text reply) {
                            CHECK_FALSE(ec);
                            CHECK(reply.text == "who I am");
                            second.emit(asio::cancellation_type::terminal);  // too late: the call is over
                            first.emit(asio::cancellation_type::terminal);
                            --open;
                          }));
  client.async_call<Echo>({"b"}, 10s, [&](std::error_code ec, Text) {
    CHECK_FALSE(ec);
    --open;
  });
  while (open > 0) context.run_one();
}

TEST_CASE("RpcClient: completion tokens of Asio", "[rpc]") {
  asio::io_context context{1};
  const auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  // A future, which is ready after the context has run.
  std::future<Text> future = client.async_call<Echo>({"f"}, {}, asio::use_future);
  bool deferred_done = false;
  auto deferred = client.async_call<Echo>({"d"}, {}, distrib::deferred);  // does not start the call
  context.run_for(20ms);
  CHECK(future.wait_for(0s) == std::future_status::ready);
  CHECK(future.get().text == "f");
  std::move(deferred)([&](std::error_code ec, Text reply) {
    CHECK_FALSE(ec);
    deferred_done = reply.text == "d";
  });
  while (!deferred_done) context.run_one();
  // A handler with an executor of its own.
  asio::io_context other{1};
  bool elsewhere = false;
  client.async_call<Echo>({"e"}, {}, asio::bind_executor(other.get_executor(), [&](std::error_code, const Text& reply) {
                            elsewhere = reply.text == "e" && other.get_executor().running_in_this_thread();
                          }));
  for (int i = 0; i < 1000 && !elsewhere; ++i) {
    context.poll();
    other.restart();
    other.poll();
  }
  CHECK(elsewhere);
}

TEST_CASE("RpcClient: handlers that are too large for the slot, and handlers that can only be moved", "[rpc]") {
  asio::io_context context{1};
  const auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  int open = 2;
  std::array<std::uint64_t, 50> large{};
  large[49] = 7;
  client.async_call<Echo>({"a"}, {}, [&open, large](std::error_code, const Text&) {
    CHECK(large[49] == 7);
    --open;
  });
  client.async_call<Echo>({"a"}, {}, [&open, mine = std::make_unique<int>(3)](std::error_code, const Text&) {
    CHECK(*mine == 3);
    --open;
  });
  while (open > 0) context.run_one();
  // Never answered: the memory of the handler is freed in any order of destruction.
  client.async_call<Echo>({"never"}, {}, [mine = std::make_unique<int>(3)](std::error_code, const Text&) {});
}

namespace {

/// Answers every call with a stream of items.
struct Streams {
  unsigned items;
  void dispatch(const distrib::ServerConnection& connection, const distrib::ServerEvent& event) const {
    for (unsigned i = 0; i < items; ++i) connection->item(event.call, {}, nullptr);
    connection->end_stream(event.call);
  }
};

}  // namespace

TEST_CASE("RpcClient: a stream instead of an answer fails only its call", "[rpc]") {
  for (const unsigned items : {0U, 1U, 2U, 200U}) {
    CAPTURE(items);
    asio::io_context context{1};
    RpcServer<Streams> server{context.get_executor(), anywhere, Streams{items}};
    int closed = 0;
    RpcClient client{loopback::connect(context, server.port()), {}, [&](const distrib::Error&) { ++closed; }};
    std::vector<std::error_code> ends;
    for (unsigned round = 0; round < 2; ++round) {
      for (int i = 0; i < 3; ++i)
        client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { ends.push_back(ec); });
      while (ends.size() < 3 * round + 3U) context.run_one();
    }
    context.poll();
    CHECK(ends == std::vector<std::error_code>(6, rpc_errc::protocol));
    CHECK(closed == 0);
  }
}

TEST_CASE("RpcClient: available reports if the server accepts calls, and drain ends with closed", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  std::vector<std::string> story;
  const auto closed = [&](const distrib::Error& reason) { story.push_back(reason ? "lost" : "closed"); };
  const auto available = [&](bool is) { story.push_back(is ? "available" : "not available"); };
  RpcClient drained{loopback::connect(context, server->port()), {}, closed, available};
  drained.async_call<Echo>({"a"}, {}, [&](std::error_code, const Text& reply) { story.push_back(reply.text); });
  drained.drain();
  drained.async_call<Echo>({"b"}, {}, [&](std::error_code ec, const Text&) {
    CHECK(ec == rpc_errc::closed);
    story.push_back("refused");
  });
  while (story.empty() || story.back() != "closed") context.run_one();
  CHECK(story == std::vector<std::string>{"refused", "a", "closed"});

  story.clear();
  RpcClient idle{loopback::connect(context, server->port()), {}, closed, available};
  while (story.empty()) context.run_one();
  server->drain(1min);
  while (story.size() < 3) context.run_one();
  CHECK(story == std::vector<std::string>{"available", "not available", "lost"});
}

TEST_CASE("RpcClient: if it is destroyed before a call is written, the call fails with not_sent", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  std::error_code end;
  RpcClient{loopback::connect(context, server->port())}.async_call<Echo>(
      {"a"}, {}, [&](std::error_code ec, const Text&) { end = ec; });
  while (!end) context.run_one();
  CHECK(end == rpc_errc::not_sent);
}

TEST_CASE("RpcClient: replies of any size in chunks", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), anywhere, Router{on<Fetch>([](Text request, auto call) {
                     const std::size_t size = std::stoul(request.text);
                     call.reply({size, size == 0 ? nullptr : stream::body(size)});
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  for (const std::size_t size : {0U, 1U, 4096U, 4097U, 100'000U, 5'000'003U}) {
    CAPTURE(size);
    std::vector<std::byte> bytes;
    std::vector<std::size_t> chunks;
    bool ended = false;
    client.async_call_in_chunks<Fetch>(
        {std::to_string(size)}, 10s,
        [&](distrib::ByteView part) {
          chunks.push_back(part.size());
          bytes.insert(bytes.end(), part.begin(), part.end());
        },
        [&](std::error_code ec, const Bulk& reply) {
          CHECK_FALSE(ec);
          CHECK(reply.step == size);
          CHECK(reply.body == nullptr);
          ended = true;
        });
    while (!ended) context.run_one();
    CHECK(chunks.size() >= (size == 0 ? 0 : size <= 4096 ? 1 : (size + 262'143) / 262'144));
    for (std::size_t i = 0; i + 1 < chunks.size(); ++i) CHECK(chunks[i] % 64 == 0);
    CHECK(bytes.size() == size);
    if (size != 0) CHECK(std::ranges::equal(bytes, stream::body(size)->bytes()));
  }
}

TEST_CASE("RpcClient: a call in chunks fails as every other call does", "[rpc]") {
  asio::io_context context{1};
  const auto answer = [](const Text& request, auto call) {
    if (request.text == "no") call.fail(rpc_errc::exhausted);
    if (request.text == "yes") call.reply({1, stream::body(3'000'000)});
  };
  RpcServer server{context.get_executor(), anywhere, Router{on<Fetch>(answer)}};
  RpcClient client{loopback::connect(context, server.port())};
  std::size_t came = 0;
  std::optional<std::error_code> ended;
  asio::cancellation_signal cancel;
  std::function<void()> at_chunk = [] {};
  const auto call = [&](const char* what, distrib::CallOptions options) {
    came = 0;
    ended.reset();
    client.async_call_in_chunks<Fetch>(
        {what}, std::move(options),
        [&](distrib::ByteView part) {
          CHECK_FALSE(ended);
          came += part.size();
          at_chunk();
        },
        asio::bind_cancellation_slot(cancel.slot(), [&](std::error_code ec, const Bulk& reply) {
          CHECK_FALSE(ended);
          CHECK(reply.step == (ec ? 0 : 1));
          ended = ec;
        }));
    while (!ended) context.run_one();
    return *ended;
  };
  CHECK(call("never", 20ms) == rpc_errc::deadline_passed);
  CHECK(call("no", {}) == rpc_errc::exhausted);
  CHECK(came == 0);
  at_chunk = [&] { cancel.emit(asio::cancellation_type::all); };
  CHECK(call("yes", {}) == rpc_errc::cancelled);
  CHECK(came > 0);
  CHECK(came < 3'000'000);
  at_chunk = [] {};
  CHECK_FALSE(call("yes", 10s));  // the rest of the cancelled reply was skipped
  CHECK(came == 3'000'000);

  bool other_ended = false;
  at_chunk = [&] {
    if (came > 1'000'000) server.drain(0ms);
  };
  client.async_call<Fetch>({"never"}, {}, [&](std::error_code ec, const Bulk&) {
    CHECK(ec == rpc_errc::lost);
    other_ended = true;
  });
  (void)call("yes", {});  // ends either way: its reply was under way
  while (!other_ended) context.run_one();
}

TEST_CASE("RpcClient: a stream instead of an answer in chunks fails its call with protocol", "[rpc]") {
  struct Trick : distrib::StreamingMethod<"test.Fetch", Text, Bulk> {};
  asio::io_context context{1};
  const bool ends_at_once = GENERATE(true, false);
  const auto trick = [&](const Text&, const distrib::Call<Trick, distrib::ServerConnection>& call) {
    if (!ends_at_once) call.item({1, stream::body(10)});
    call.end();
  };
  RpcServer server{context.get_executor(), anywhere, Router{on<Trick>(trick)}};
  RpcClient client{loopback::connect(context, server.port())};
  int ended = 0;
  client.async_call_in_chunks<Fetch>(
      {""}, 10s, [](distrib::ByteView) { FAIL("a chunk arrived"); },
      [&](std::error_code ec, const Bulk&) {
        CHECK(ec == rpc_errc::protocol);
        ++ended;
      });
  while (ended == 0) context.run_one();
  context.poll();
  CHECK(ended == 1);
}

TEST_CASE("RpcClient: if the sink of chunks throws, its call fails with cancelled", "[rpc]") {
  asio::io_context context{1};
  const std::size_t size = GENERATE(100U, 3'000'000U);
  const auto answer = [&](const Text&, auto call) { call.reply({1, stream::body(size)}); };
  RpcServer server{context.get_executor(), anywhere, Router{on<Fetch>(answer)}};
  RpcClient client{loopback::connect(context, server.port())};
  int chunks = 0;
  int ended = 0;
  client.async_call_in_chunks<Fetch>(
      {""}, 10s,
      [&](distrib::ByteView) {
        ++chunks;
        throw std::runtime_error{"the caller's own"};
      },
      [&](std::error_code ec, const Bulk& reply) {
        CHECK(ec == rpc_errc::cancelled);
        CHECK(reply.step == 0);
        ++ended;
      });
  CHECK_THROWS_WITH(context.run(), Equals("the caller's own"));
  while (ended == 0) context.run_one();
  CHECK(chunks == 1);
  CHECK(ended == 1);
}

TEST_CASE("RpcClient: handlers that throw at the end of the connection do not keep other calls from ending", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  int closed = 0;
  std::optional<RpcClient> client{std::in_place, loopback::connect(context, server->port()),
                                  distrib::RpcClientOptions{}, [&](const distrib::Error&) { ++closed; }};
  const bool by_server = GENERATE(true, false);
  int ended = 0;
  for (int i = 0; i < 5; ++i)
    client->async_call<Echo>({"never"}, {}, [&, i](std::error_code, const Text&) {
      ++ended;
      if (i % 2 == 0) throw std::runtime_error{"the caller's own"};
    });
  bool answered = false;
  client->async_call<Echo>({"a"}, {}, [&](std::error_code, const Text&) { answered = true; });
  while (!answered) context.run_one();
  if (by_server) server.reset();
  else client.reset();
  for (int i = 0; i < 3; ++i) {
    context.restart();
    CHECK_THROWS_WITH(context.run(), Equals("the caller's own"));
  }
  context.restart();
  context.poll();
  CHECK(ended == 5);
  CHECK(closed == (by_server ? 1 : 0));
}

TEST_CASE("RpcClient: error_text is written before the handler runs, and never after", "[rpc]") {
  struct Trick : distrib::StreamingMethod<"test.Fetch", Text, Bulk> {};
  asio::io_context context{1};
  const bool is_item = GENERATE(true, false);
  const auto trick = [&](const Text&, const distrib::Call<Trick, distrib::ServerConnection>& call) {
    is_item ? static_cast<void>(call.item({1, stream::body(10)})) : call.end();
  };
  RpcServer server{context.get_executor(), anywhere, Router{on<Trick>(trick)}};
  std::optional<RpcClient> client{std::in_place, loopback::connect(context, server.port())};
  for (const bool in_chunks : {true, false}) {
    auto text = std::make_unique<std::string>("of an earlier call");
    const distrib::CallOptions options{10s, "", text.get()};
    const auto told = [&](std::error_code ec, const Bulk&) {
      CHECK(ec == rpc_errc::protocol);
      CHECK(*text != "of an earlier call");
      text.reset();
    };
    if (in_chunks) client->async_call_in_chunks<Fetch>({""}, options, [](distrib::ByteView) {}, told);
    else client->async_call<Fetch>({""}, options, told);
    while (text != nullptr) context.run_one();
    context.poll();
  }
  auto text = std::make_unique<std::string>();
  client.emplace(loopback::connect(context, server.port()));
  client->async_call<Fetch>({""}, distrib::CallOptions{10s, "", text.get()}, [](std::error_code, const Bulk&) {});
  client.reset();
  text.reset();  // together with the client, as if both were members of one object
  context.poll();
}

TEST_CASE("RpcClient: after drain calls are refused, also inside closed", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  int refused = 0;
  const auto tell = [&](std::error_code ec, const Text&) {
    CHECK(ec == rpc_errc::closed);
    ++refused;
  };
  RpcClient* at = nullptr;
  RpcClient client{loopback::connect(context, server->port()), {}, [&](const distrib::Error&) {
                     at->async_call<Echo>({"a"}, 10s, tell);
                   }};
  at = &client;
  client.drain();
  while (refused < 1) context.run_one();
  client.async_call<Echo>({"b"}, {}, tell);
  while (refused < 2) context.run_one();
}

TEST_CASE("RpcClient: the longest time means no deadline", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  for (const CallOptions& options :
       {CallOptions{std::chrono::milliseconds::max()}, CallOptions{std::chrono::hours::max()},
        CallOptions{std::chrono::duration<double>::max()}}) {
    std::optional<std::error_code> end;
    client.async_call<Echo>({"a"}, options, [&](std::error_code ec, const Text&) { end = ec; });
    while (!end) context.run_one();
    CHECK_FALSE(*end);
  }
}

namespace {

/// A message whose codec throws when it reads.
struct FragileReply {
  distrib::SharedBuffer body;
  void encode(distrib::WireWriter&) const {}
  [[nodiscard]] auto decode(distrib::ByteView) -> bool { throw std::length_error{"decode"}; }
};
struct FetchFragile : distrib::Method<"test.Fetch", Text, FragileReply> {};

}  // namespace

TEST_CASE("RpcClient: an answer whose codec throws fails its call with bad_message", "[rpc]") {
  asio::io_context context{1};
  const std::size_t size = GENERATE(10U, 3'000'000U);
  const bool in_chunks = GENERATE(false, true);
  RpcServer server{context.get_executor(), anywhere,
                   Router{on<Fetch>([&](const Text&) { return Bulk{1, stream::body(size)}; })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> end;
  const auto tell = [&](std::error_code ec, const FragileReply&) { end = ec; };
  if (in_chunks)
    client.async_call_in_chunks<FetchFragile>({""}, {}, [](distrib::ByteView) { FAIL("a chunk arrived"); }, tell);
  else client.async_call<FetchFragile>({""}, {}, tell);
  while (!end) context.run_one();
  CHECK(*end == rpc_errc::bad_message);
}

TEST_CASE("RpcClient: received answers are not lost if a handler throws and writing fails", "[rpc]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context.get_executor(), support::loopback()};
  RpcClient client{loopback::connect(context, acceptor.local_endpoint().port())};
  distrib::TcpSocket server = acceptor.accept();
  const auto now = std::chrono::steady_clock::now();
  distrib::ServerCore core{distrib::RpcServerOptions{}, now};
  constexpr std::size_t calls = 300;
  std::size_t good = 0;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < calls; ++i)
    client.async_call<Echo>({"a"}, {}, [&, i](std::error_code ec, const Text&) {
      good += ec ? 0U : 1U;
      ++ended;
      client.async_call<Echo>({"again"}, {}, [](std::error_code, const Text&) {});  // writing this call fails
      if (i == 200) throw std::runtime_error{"the caller's own"};
    });
  std::vector<std::uint64_t> ids;
  std::vector<std::byte> bytes(1 << 16);
  server.non_blocking(true);
  while (ids.size() < calls) {
    context.poll();
    std::error_code ec;
    const std::size_t count = server.read_some(asio::buffer(bytes), ec);
    for (std::size_t at = 0; at < count;) {
      at += stream::give(core, distrib::ByteView{bytes}.subspan(at, count - at), count, now);
      for (distrib::ServerEvent event; core.next(now, event);)
        if (event.kind == distrib::ServerEvent::Kind::request) ids.push_back(event.call);
      core.keep();
    }
  }
  server.non_blocking(false);
  asio::write(server, asio::buffer(stream::take_output(core, now)));  // the greeting
  context.restart();
  context.run_one();  // the connection was the last one at work on this thread: so it writes after each 64 answers
  for (const std::uint64_t id : ids) core.reply(id, {});
  asio::write(server, asio::buffer(stream::take_output(core, now)));
  server.close();
  context.restart();
  CHECK_THROWS_WITH(context.run(), Equals("the caller's own"));
  context.restart();
  context.run();
  CHECK(ended == calls);
  CHECK(good == calls);
}
