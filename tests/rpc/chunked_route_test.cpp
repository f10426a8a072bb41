// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/chunked_route.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/pair.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>

#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

using namespace distrib;
using loopback::anywhere;
using messages::Bulk;
using messages::Echo;
using messages::Store;
using messages::Text;
using support::run_until;
using namespace std::chrono_literals;

namespace {

/// What the sinks have received.
struct Seen {
  std::vector<std::size_t> announced;
  std::vector<std::size_t> chunks;  // their sizes
  std::vector<std::byte> bytes;
  int ends = 0;
  int dropped = 0;  // sinks that were destroyed
};

/// A sink that records everything, then answers.
template <class Answer>
struct Note {
  Note(Seen& to, Answer with) : seen{&to}, call{std::move(with)} {}
  Note(Note&& other) noexcept
      : seen{std::exchange(other.seen, nullptr)}, call{other.call}, on_chunk{other.on_chunk}, answers{other.answers} {}
  auto operator=(Note&&) -> Note& = default;
  ~Note() {
    if (seen != nullptr) ++seen->dropped;
  }
  void chunk(ByteView bytes) {
    seen->chunks.push_back(bytes.size());
    seen->bytes.insert(seen->bytes.end(), bytes.begin(), bytes.end());
    if (on_chunk) on_chunk();
  }
  void end() {
    ++seen->ends;
    if (answers) call.reply({});
  }
  Seen* seen;
  Answer call;
  std::function<void()> on_chunk = {};
  bool answers = true;
};

auto noting(Seen& seen) {
  return on_chunks<Store>([&seen](const Bulk& request, auto call, std::size_t bytes) {
    CHECK(request.step == 7);
    CHECK(request.body == nullptr);
    seen.announced.push_back(bytes);
    return Note{seen, call};
  });
}

auto bytes_of(const SharedBuffer& body) -> std::vector<std::byte> {
  return body == nullptr ? std::vector<std::byte>{}
                         : std::vector<std::byte>{body->bytes().begin(), body->bytes().end()};
}

/// A connection that sends bytes which no client would send.
struct Raw {
  explicit Raw(asio::io_context& context, std::uint16_t port) : socket{loopback::connect(context, port)} {
    Greeting greeting;
    say(stream::frame({FrameKind::greeting}, as_text(greeting.encode())));
  }
  void say(const stream::Bytes& bytes) { asio::write(socket, asio::buffer(bytes)); }
  TcpSocket socket;
};

/// Returns a request of `Store` with a body of 300 000 bytes.
auto store_frame() -> stream::Bytes {
  WireWriter message;
  Bulk{7, nullptr}.encode(message);
  const std::string head = std::string{"\xff\xff\xff\xff\0\0\0\0", 8} + std::string{as_text(message.view())};
  return stream::frame({FrameKind::request, 0, Store::id, 0, 1ULL << 32, 0}, head, stream::body(300'000));
}

}  // namespace

TEST_CASE("on_chunks: bodies of any size are handled while they arrive", "[rpc]") {
  asio::io_context context{1};
  Seen seen;
  RpcServer server{context.get_executor(), anywhere, Router{noting(seen)}};
  RpcClient client{loopback::connect(context, server.port())};
  for (const std::size_t size : {0U, 1U, 4096U, 4097U, 100'000U, 5'000'003U}) {
    CAPTURE(size);
    seen = {};
    const SharedBuffer body = size == 0 ? nullptr : stream::body(size);
    bool ended = false;
    client.async_call<Store>({7, body}, 10s, [&](std::error_code ec, Empty) {
      CHECK_FALSE(ec);
      ended = true;
    });
    run_until(context, [&] { return ended; });
    CHECK(seen.announced == std::vector{size});
    CHECK(seen.bytes == bytes_of(body));
    CHECK(seen.ends == 1);
    CHECK(seen.dropped == 1);
    CHECK(seen.chunks.size() >= (size == 0 ? 0 : size <= 4096 ? 1 : (size + 262'143) / 262'144));
    for (std::size_t i = 0; i + 1 < seen.chunks.size(); ++i) CHECK(seen.chunks[i] % 64 == 0);
  }
}

TEST_CASE("on_chunks: other methods of the router work as before, also with many calls at once", "[rpc]") {
  asio::io_context context{1};
  Seen seen;
  RpcServer server{context.get_executor(), anywhere,
                   Router{noting(seen), on<Echo>([](Text request, auto call) { call.reply(request); })}};
  RpcClient client{loopback::connect(context, server.port())};
  int ended = 0;
  for (int i = 0; i < 20; ++i) {
    client.async_call<Store>({7, stream::body(70'000)}, 10s, [&](std::error_code ec, Empty) {
      CHECK_FALSE(ec);
      ++ended;
    });
    client.async_call<Echo>({std::string(60'000, 'e')}, 10s, [&](std::error_code ec, const Text& reply) {
      CHECK_FALSE(ec);
      CHECK(reply.text.size() == 60'000);
      ++ended;
    });
  }
  run_until(context, [&] { return ended == 40; });
  CHECK(seen.ends == 20);
  CHECK(seen.bytes.size() == 20 * 70'000);
}

TEST_CASE("on_chunks: a sink gets no more chunks when its call was refused or answered early", "[rpc]") {
  asio::io_context context{1};
  Seen seen;
  const auto handler = [&](const Bulk& request, auto call, std::size_t) {
    if (request.step == 1) call.fail(rpc_errc::exhausted, "no room");
    if (request.step == 2) throw_error(rpc_errc::bad_message, "no");
    Note note{seen, call};
    if (request.step == 3) note.on_chunk = [call] { call.reply({}); };
    if (request.step == 4) note.on_chunk = [] { throw_error(rpc_errc::bad_message, "in a chunk"); };
    return note;
  };
  RpcServer server{context.get_executor(), anywhere, Router{on_chunks<Store>(handler)}};
  RpcClient client{loopback::connect(context, server.port())};
  for (const std::size_t size : {100U, 1'000'000U}) {
    for (const std::uint64_t step : {1U, 2U, 3U, 4U, 5U}) {
      CAPTURE(size, step);
      seen = {};
      std::optional<std::error_code> answer;
      client.async_call<Store>({step, stream::body(size)}, 10s, [&](std::error_code ec, Empty) { answer = ec; });
      run_until(context, [&] { return answer.has_value(); });
      const std::error_code well;
      const std::error_code expected[] = {well, rpc_errc::exhausted,   rpc_errc::bad_message,
                                          well, rpc_errc::bad_message, well};
      CHECK(*answer == expected[step]);
      CHECK(seen.ends == (step == 5 ? 1 : 0));
      CHECK(seen.chunks.size() >= (step < 3 ? 0U : 1U));
      if (step == 1 || step == 2) CHECK(seen.chunks.empty());
      if (step == 3 || step == 4) CHECK(seen.chunks.size() == 1);
      CHECK(seen.dropped == (step == 2 ? 0 : 1));
    }
  }
}

TEST_CASE("on_chunks: the sink is destroyed without an end if the body is not complete or not correct", "[rpc]") {
  asio::io_context context{1};
  Seen seen;
  RpcServer server{context.get_executor(), anywhere, Router{noting(seen)}};
  const stream::Bytes request = store_frame();
  SECTION("the client is lost") {
    {
      Raw raw{context, server.port()};
      raw.say({request.begin(), request.begin() + 100'000});
      run_until(context, [&] { return !seen.chunks.empty(); });
    }
    run_until(context, [&] { return seen.dropped == 1; });
  }
  SECTION("a bit is wrong") {
    Raw raw{context, server.port()};
    stream::Bytes damaged = request;
    damaged[200'000] ^= std::byte{1};
    raw.say(damaged);
    run_until(context, [&] { return seen.dropped == 1; });
    CHECK(server.connections() == 0);
  }
  CHECK(seen.ends == 0);
  CHECK(seen.bytes.size() < 300'000 + 1);
}

TEST_CASE("on_chunks: a call that is cancelled before the answer destroys its sink", "[rpc]") {
  asio::io_context context{1};
  Seen seen;
  RpcServer server{context.get_executor(), anywhere,
                   Router{on_chunks<Store>([&seen](const Bulk&, auto call, std::size_t) {
                     Note note{seen, call};
                     note.answers = false;
                     return note;
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> answer;
  asio::cancellation_signal cancel;
  client.async_call<Store>(
      {7, stream::body(100'000)}, 10s,
      asio::bind_cancellation_slot(cancel.slot(), [&](std::error_code ec, Empty) { answer = ec; }));
  run_until(context, [&] { return seen.ends == 1; });
  CHECK(seen.dropped == 0);
  cancel.emit(asio::cancellation_type::all);
  run_until(context, [&] { return answer.has_value() && seen.dropped == 1; });
  CHECK(*answer == rpc_errc::cancelled);
}

TEST_CASE("on_chunks: the bodies of refused requests are skipped and take no memory", "[rpc]") {
  RpcServerOptions options;
  options.max_calls = 2;
  const auto budget = std::make_shared<ServerBudget>(options);
  budget->takes_chunks = [](std::uint32_t) { return true; };
  pair::Pair pair{budget};
  pair.carry();
  pair.at_server.clear();
  constexpr auto request = static_cast<int>(ServerEvent::Kind::request);
  constexpr auto end = static_cast<int>(ServerEvent::Kind::body_end);
  const auto count = [&](int kind) {
    return std::ranges::count_if(pair.at_server, [&](const auto& event) { return event.kind == kind; });
  };
  // As a client would do that does not know the limit.
  for (std::uint64_t slot = 0; slot < 4; ++slot) {
    const std::string head{"\xff\xff\xff\xff\0\0\0\0", 8};
    const auto bytes = stream::frame({FrameKind::request, 0, 1, 0, 1ULL << 32 | slot, 0}, head, stream::body(50'000));
    for (std::size_t at = 0; at < bytes.size();) {
      at += stream::give(pair.server, ByteView{bytes}.subspan(at), 20'000, pair.now);
      pair.take_events();
      pair.server.keep();
    }
  }
  CHECK(count(request) == 2);
  CHECK(count(end) == 2);
  CHECK(pair.server.calls() == 2);
  CHECK(budget->bytes < 1000);  // no bodies of the open calls; two refusals that are not written
}

TEST_CASE("on_chunks: the body of a refused request never reaches an open call with the same id", "[rpc]") {
  const auto budget = std::make_shared<ServerBudget>(RpcServerOptions{});
  budget->takes_chunks = [](std::uint32_t) { return true; };
  pair::Pair pair{budget};
  pair.carry();
  const stream::Bytes request = store_frame();
  const auto give = [&](const stream::Bytes& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      at += stream::give(pair.server, ByteView{bytes}.subspan(at), 20'000, pair.now);
      pair.take_events();
      pair.server.keep();
    }
  };
  give(request);  // stays open
  give(stream::frame({FrameKind::goodbye}));
  pair.at_server.clear();
  give(request);  // refused after the goodbye
  CHECK(pair.at_server.empty());
  CHECK(pair.server.calls() == 1);
}

TEST_CASE("on_chunks: a body that arrives too slowly ends the connection", "[rpc]") {
  RpcServerOptions options;
  options.frame_within = 1s;
  const auto budget = std::make_shared<ServerBudget>(options);
  budget->takes_chunks = [](std::uint32_t) { return true; };
  pair::Pair pair{budget};
  pair.carry();
  const stream::Bytes bytes = store_frame();
  for (std::size_t at = 0; at < bytes.size() && !pair.server.finished();) {
    at += stream::give(pair.server, ByteView{bytes}.subspan(at), 640, pair.now);
    pair.take_events();
    pair.server.keep();
    pair.pass(20ms);
  }
  CHECK(pair.server.reason() == rpc_errc::silent);  // 32 kB per second are less than 64 KiB per second
}

TEST_CASE("on_chunks: a head larger than held_bytes does not prevent the reading of its own body", "[rpc]") {
  RpcServerOptions options;
  options.held_bytes = 1000;
  const auto budget = std::make_shared<ServerBudget>(options);
  budget->takes_chunks = [](std::uint32_t) { return true; };
  pair::Pair pair{budget};
  const std::uint64_t call = pair.call("m", std::string(2000, 'h'), stream::body(50'000));
  pair.carry(20'000);
  CHECK(pair.at_server.back().kind == static_cast<int>(ServerEvent::Kind::body_end));
  CHECK_FALSE(pair.server.reads());  // from now on the connection holds too much
  CHECK(budget->bytes >= 2000);
  pair.server.reply(call, {});
  pair.carry();
  CHECK(pair.server.reads());
  CHECK(budget->bytes == 0);
}

TEST_CASE("on_chunks: a sink may answer in its destructor", "[rpc]") {
  struct Promise {
    Promise(Promise&& other) noexcept : call{std::exchange(other.call, std::nullopt)} {}
    explicit Promise(const Call<Store, ServerConnection>& of) : call{of} {}
    auto operator=(Promise&&) -> Promise& = default;
    ~Promise() {
      if (call) call->fail(rpc_errc::cancelled, "broken");
    }
    void chunk(ByteView) {}
    void end() {}
    std::optional<Call<Store, ServerConnection>> call;
  };
  asio::io_context context{1};
  std::optional<Call<Store, ServerConnection>> kept;
  RpcServer server{context.get_executor(), anywhere,
                   Router{on_chunks<Store>([&](const Bulk&, const Call<Store, ServerConnection>& call, std::size_t) {
                     kept = call;
                     return Promise{call};
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> answer;
  client.async_call<Store>({7, stream::body(100'000)}, 10s, [&](std::error_code ec, Empty) { answer = ec; });
  run_until(context, [&] { return kept.has_value(); });
  SECTION("the call was answered before") { kept->reply({}); }
  SECTION("the call was not answered") { server.drain(0ms); }
  run_until(context, [&] { return answer.has_value(); });
}

TEST_CASE("on_chunks: an exception of a sink leaves run and fails its call", "[rpc]") {
  struct Thrower {
    void chunk(ByteView) {
      ++*chunks;
      throw std::runtime_error{"the sink's own"};
    }
    void end() { FAIL("end was called"); }
    int* chunks;
  };
  asio::io_context context{1};
  int chunks = 0;
  RpcServer server{context.get_executor(), anywhere,
                   Router{on_chunks<Store>([&](const Bulk&, auto, std::size_t) { return Thrower{&chunks}; })}};
  RpcClient client{loopback::connect(context, server.port())};
  for (const std::size_t size : {100U, 1'000'000U}) {
    chunks = 0;
    std::optional<std::error_code> answer;
    client.async_call<Store>({7, stream::body(size)}, 10s, [&](std::error_code ec, Empty) { answer = ec; });
    CHECK_THROWS_WITH(context.run(), Equals("the sink's own"));
    run_until(context, [&] { return answer.has_value(); });
    CHECK(*answer == failure::io);
    CHECK(chunks == 1);
  }
}
