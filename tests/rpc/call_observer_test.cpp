// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/call_observer.hpp>

#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client_pool.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

using distrib::ObservedCall;
using distrib::rpc_errc;
using messages::Bulk;
using messages::Count;
using messages::Echo;
using messages::Fetch;
using messages::Store;
using messages::Text;
using support::run_until;
using namespace std::chrono_literals;

namespace {

/// Records what is reported, and checks that no call starts twice or ends without a start.
struct Trace {
  struct Line {
    ObservedCall call;
    std::string peer;
    std::error_code code;
  };
  std::map<std::pair<std::string, std::uint64_t>, int> open;
  std::vector<Line> started_calls;
  std::vector<Line> ended_calls;

  void started(const ObservedCall& call) {
    CHECK(++open[{std::string{call.peer}, call.id}] == 1);
    started_calls.push_back({call, std::string{call.peer}, {}});
  }
  void ended(const ObservedCall& call, const std::error_code& code) {
    CHECK(--open[{std::string{call.peer}, call.id}] == 0);
    CHECK(call.ended >= call.began);
    ended_calls.push_back({call, std::string{call.peer}, code});
  }
};

/// Keeps the call "keep" open, fails "fail", and takes 2 ms for "slow".
struct Handlers {
  std::vector<std::function<void()>>* kept;
  template <class Call>
  void operator()(Text request, Call call) const {
    if (request.text == "fail") return call.fail(rpc_errc::exhausted, "here");
    if (request.text == "slow")
      for (const auto end = std::chrono::steady_clock::now() + 2ms; std::chrono::steady_clock::now() < end;) {
      }
    if (request.text != "keep") return call.reply(request);
    kept->emplace_back([=] { call.reply(request); });
  }
};

struct Both {
  asio::io_context context{1};
  std::vector<std::function<void()>> kept;
  Trace at_server;
  Trace at_client;
  distrib::RpcServer<distrib::Router<distrib::detail::Route<Echo, Handlers>>, Trace> server{
      context.get_executor(), {"127.0.0.1", 0}, distrib::Router{distrib::on<Echo>(Handlers{&kept})}, {}, at_server};
  using Client = distrib::BasicRpcClient<Trace>;
  std::optional<Client> client{
      std::in_place, loopback::connect(context, server.port()), distrib::RpcClientOptions{}, nullptr, nullptr,
      at_client};
  int over = 0;
  void call(const char* text, distrib::CallOptions options = {}) {
    client->async_call<Echo>({text}, std::move(options), [this](std::error_code, const Text&) { ++over; });
  }
};

}  // namespace

TEST_CASE("CallObserver: client and server report peer, method, duration, bytes and result of each call", "[rpc]") {
  Both both;
  both.call("slow");
  both.call("fail");
  CHECK(both.at_client.started_calls.size() == 2);
  run_until(both.context, [&] { return both.over == 2; });
  for (const Trace* trace : {&both.at_server, &both.at_client}) {
    CAPTURE(trace == &both.at_server);
    REQUIRE(trace->ended_calls.size() == 2);
    const auto& [slow, peer, code] = trace->ended_calls[0];
    CHECK(slow.method == Echo::id);
    CHECK(slow.id == trace->started_calls[0].call.id);
    CHECK(slow.request_bytes == 6);  // tag, length, "slow"
    CHECK(slow.reply_bytes == 6);
    CHECK_FALSE(code);
    CHECK(slow.ended - slow.began >= 2ms);  // also at the server, where the handler answered at once
    const auto& [fails, same, why] = trace->ended_calls[1];
    CHECK(why == rpc_errc::exhausted);
    CHECK(fails.reply_bytes == 0);
    CHECK(peer == trace->started_calls[0].peer);
    CHECK(peer == same);
  }
  CHECK(both.at_client.ended_calls[0].peer == "127.0.0.1:" + std::to_string(both.server.port()));
  CHECK(both.at_server.ended_calls[0].peer.starts_with("127.0.0.1:"));
}

TEST_CASE("CallObserver: calls that are answered later or cancelled; a late answer is not reported", "[rpc]") {
  Both both;
  both.call("keep");
  both.call("keep", 4ms);
  run_until(both.context, [&] { return both.over == 1 && both.at_server.ended_calls.size() == 1; });
  CHECK(both.at_client.ended_calls[0].code == rpc_errc::deadline_passed);
  CHECK(both.at_server.ended_calls[0].code == rpc_errc::cancelled);
  for (const auto& answer : both.kept) answer();  // one of the calls was cancelled
  CHECK(both.at_server.ended_calls.size() == 2);
  CHECK(both.at_server.ended_calls[1].call.ended > both.at_server.ended_calls[1].call.began);
  run_until(both.context, [&] { return both.over == 2; });
  CHECK_FALSE(both.at_client.ended_calls[1].code);
  CHECK(both.at_client.ended_calls[1].call.ended - both.at_client.ended_calls[1].call.began >= 4ms);
}

TEST_CASE("CallObserver: every call ends once when the connection ends", "[rpc]") {
  Both both;
  both.call("keep");
  both.call("keep");
  run_until(both.context, [&] { return both.kept.size() == 2; });
  both.client.reset();
  CHECK(both.at_client.ended_calls.size() == 2);  // the observer may be destroyed now
  for (const auto& line : both.at_client.ended_calls) CHECK(line.code == rpc_errc::lost);
  run_until(both.context, [&] { return both.over == 2 && both.at_server.ended_calls.size() == 2; });
  CHECK(both.at_client.ended_calls.size() == 2);
  for (const auto& line : both.at_server.ended_calls) CHECK(line.code == rpc_errc::lost);
  for (const auto& answer : both.kept) answer();
  CHECK(both.at_server.ended_calls.size() == 2);
}

TEST_CASE("CallObserver: a pool reports each attempt at a call, not its waiting time", "[rpc]") {
  Both both;
  Trace trace;
  distrib::BasicRpcClientPool<Trace> pool{both.context.get_executor(), {"127.0.0.1", both.server.port()}, {}, trace};
  bool answered = false;
  pool.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { answered = !ec; });
  CHECK(trace.started_calls.empty());  // the call waits for a connection
  run_until(both.context, [&] { return answered; });
  REQUIRE(trace.ended_calls.size() == 1);
  CHECK(trace.ended_calls[0].call.request_bytes == 3);
}

TEST_CASE("CallObserver: a stream is one call, and bodies count among its bytes", "[rpc]") {
  asio::io_context context{1};
  Trace trace;
  distrib::RpcServer server{context.get_executor(),
                            {"127.0.0.1", 0},
                            distrib::Router{distrib::on<Count>([](Text, auto stream) -> asio::awaitable<void> {
                                              for (std::uint64_t i = 1; i <= 3; ++i) {
                                                messages::Bulk item{i, ::stream::body(100)};
                                                co_await stream.async_write(item, asio::use_awaitable);
                                              }
                                            }),
                                            distrib::on<Store>([](Bulk, auto call) { call.reply({}); })},
                            {},
                            trace};
  distrib::ClientCore core{{}, std::chrono::steady_clock::now()};
  core.call(Count::id, {}, {}, {}, std::chrono::steady_clock::now());
  core.call(Store::id, {}, distrib::FrameBody{stream::body(5'000)}, {}, std::chrono::steady_clock::now());
  auto socket = loopback::connect(context, server.port());
  const stream::Bytes bytes = stream::take_output(core, std::chrono::steady_clock::now());
  CHECK(asio::write(socket, asio::buffer(bytes)) == bytes.size());
  run_until(context, [&] { return trace.ended_calls.size() == 2; });
  CHECK(trace.ended_calls[0].call.method == Store::id);  // it was answered at once
  CHECK(trace.ended_calls[0].call.request_bytes == 5'000);
  CHECK(trace.ended_calls[1].call.method == Count::id);
  CHECK(trace.ended_calls[1].call.reply_bytes == 3 * (100 + 2));
}

TEST_CASE("CallObserver: a client that reuses a slot before it has the answer", "[rpc]") {
  Both both;
  const auto greeting = distrib::Greeting{}.encode();
  stream::Bytes bytes = stream::frame({distrib::FrameKind::greeting}, distrib::as_text(distrib::ByteView{greeting}));
  const std::string head("\xff\xff\xff\xff\0\0\0\0", 8);  // no deadline, no metadata
  for (std::uint64_t generation = 1; generation <= 3; ++generation) {
    const auto request = stream::frame({distrib::FrameKind::request, 0, Echo::id, 0, generation << 32, 0}, head);
    bytes.insert(bytes.end(), request.begin(), request.end());
  }
  auto socket = loopback::connect(both.context, both.server.port());
  CHECK(asio::write(socket, asio::buffer(bytes)) == bytes.size());
  run_until(both.context, [&] { return both.at_server.ended_calls.size() == 3; });
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(both.at_server.ended_calls[i].call.id == (i + 1) << 32);
    CHECK_FALSE(both.at_server.ended_calls[i].code);
  }
}

TEST_CASE("CallObserver: an answer or item that is too large for the client counts as failed, with no bytes", "[rpc]") {
  asio::io_context context{1};
  Trace trace;
  distrib::RpcServer server{
      context.get_executor(),
      {"127.0.0.1", 0},
      distrib::Router{distrib::on<Fetch>([](const Text&) { return messages::Bulk{0, ::stream::body(3'000)}; }),
                      distrib::on<Count>([](const Text&, auto stream) {
                        stream.async_write({0, ::stream::body(3'000)}, [](std::error_code) {});
                      })},
      {},
      trace};
  distrib::RpcClientOptions options;
  options.limits.body_bytes = 2'000;
  distrib::RpcClient client{loopback::connect(context, server.port()), options};
  client.async_call<Fetch>({""}, {}, [](std::error_code, const Bulk&) {});
  auto stream = client.open<Count>({""});
  run_until(context, [&] { return trace.ended_calls.size() == 2; });
  for (const auto& line : trace.ended_calls) {
    CHECK(line.code == rpc_errc::too_large);
    CHECK(line.call.reply_bytes == 0);
  }
}

TEST_CASE("CallObserver: a stream instead of an answer counts as failed with protocol", "[rpc]") {
  struct Trick : distrib::StreamingMethod<"test.Fetch", Text, Bulk> {};
  const bool in_chunks = GENERATE(false, true);
  const bool ends_at_once = GENERATE(false, true);
  CAPTURE(in_chunks, ends_at_once);
  asio::io_context context{1};
  Trace trace;
  const auto trick = [&](const Text&, const distrib::Call<Trick, distrib::ServerConnection>& call) {
    if (!ends_at_once) call.item({1, stream::body(10)});
    call.end();
  };
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, distrib::Router{distrib::on<Trick>(trick)}};
  distrib::BasicRpcClient<Trace> client{loopback::connect(context, server.port()), {}, nullptr, nullptr, trace};
  std::optional<std::error_code> told;
  const auto tell = [&](std::error_code ec, const Bulk&) { told = ec; };
  if (in_chunks) client.async_call_in_chunks<Fetch>({""}, {}, [](distrib::ByteView) { FAIL("a chunk arrived"); }, tell);
  else client.async_call<Fetch>({""}, {}, tell);
  run_until(context, [&] { return told.has_value(); });
  CHECK(*told == rpc_errc::protocol);
  REQUIRE(trace.ended_calls.size() == 1);
  CHECK(trace.ended_calls[0].code == rpc_errc::protocol);
}
