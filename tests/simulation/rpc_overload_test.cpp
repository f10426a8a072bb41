// SPDX-License-Identifier: Apache-2.0
// More calls than an end accepts: they are refused at once, no connection is lost, and later calls are accepted.
#include "simulation/rpc_line.hpp"

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using simulation::CallEnd;
using simulation::ClientEvent;
using simulation::rpc_errc;
using simulation::RpcLine;
using namespace std::chrono_literals;

namespace {

auto at_most(std::uint32_t calls) -> distrib::RpcServerOptions {
  distrib::RpcServerOptions options;
  options.max_calls = calls;
  return options;
}

}  // namespace

TEST_CASE("Rpc overload: a full server answers `exhausted` within the time of a call", "[simulation]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RpcLine line{seed, at_most(4)};
    line.on_request = [&](std::uint64_t call, const std::string& text) {
      line.scheduler.after(5s, [&line, call, text] { line.reply(call, text); });
    };
    std::vector<std::uint64_t> calls;  // before the greeting is answered, the client does not know the limit
    for (int i = 0; i < 20; ++i) calls.push_back(line.call(std::to_string(i)));
    const distrib::Instant made = line.now();
    line.run_for(20ms);  // the network takes up to 1 ms in each direction
    CAPTURE(seed);
    CHECK(line.seen.size() == 4);
    for (const std::uint64_t call : calls) {
      if (line.seen.contains(call)) continue;
      CHECK(line.ends[call].times == 1);
      CHECK(line.ends[call].code == rpc_errc::exhausted);
      CHECK(line.ends[call].at - made <= 4ms);
    }
    const distrib::Instant again = line.now();  // now the client knows it, and sends nothing
    const auto refused = line.call("more");
    line.run_for(1ms);
    CHECK(line.ends[refused].code == rpc_errc::exhausted);
    CHECK(line.ends[refused].at == again);
    line.run_for(10s);
    for (const auto& [call, seen] : line.seen) CHECK(line.ends[call].kind == ClientEvent::Kind::reply);
    CHECK_FALSE(line.client.reason());
  }
}

TEST_CASE("Rpc overload: when it is over, calls are accepted again", "[simulation]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RpcLine line{seed, at_most(2 + static_cast<std::uint32_t>(seed % 4))};
    line.on_request = [&](std::uint64_t call, const std::string& text) {
      line.scheduler.after(std::chrono::microseconds{line.dice.below(6'000)},
                           [&line, call, text] { line.reply(call, text); });
    };
    // Many calls, some of them cancelled, some with little time; the first ones before the greeting.
    for (int i = 0; i < 200; ++i) {
      std::optional<std::chrono::microseconds> within;
      if (line.dice.percent(30)) within = std::chrono::microseconds{line.dice.below(6'000)};
      const auto call = line.call("storm", within);
      if (line.dice.percent(20)) line.client.cancel(call);
      if (line.dice.percent(60)) line.run_for(std::chrono::microseconds{line.dice.below(1'500)});
    }
    line.run_for(1s);
    CAPTURE(seed);
    REQUIRE(line.client.calls() == 0);
    REQUIRE(line.server.calls() == 0);
    for (int i = 0; i < 5; ++i) {
      const auto call = line.call("calm");
      line.run_for(100ms);
      CHECK(line.ends[call].code == std::error_code{});
    }
    for (const auto& [call, end] : line.ends) CHECK(end.times == 1);
  }
}

TEST_CASE("Rpc overload: a request that arrived whole while too much was owed is accepted when less is owed",
          "[simulation]") {
  // A stream that gets its buffer in advance (TLS) may fill it after an answer was made elsewhere.
  const distrib::Instant now{1h};
  distrib::RpcServerOptions options;
  options.owed_bytes = 1'000;
  distrib::ServerCore server{options, now};
  distrib::ClientCore client{{}, now};
  const auto first = client.call(1, distrib::as_bytes("small"), nullptr, {}, now);
  const auto second = client.call(1, distrib::as_bytes(std::string(20'000, 'h')), nullptr, {}, now);
  const auto bytes = stream::take_output(client, now);
  const std::size_t in_two = bytes.size() - 10'000;
  REQUIRE(stream::give(server, bytes, in_two, now) == in_two);
  distrib::ServerEvent event;
  std::vector<std::uint64_t> requests;
  const auto take = [&] {
    while (server.next(now, event))
      if (event.kind == distrib::ServerEvent::Kind::request) requests.push_back(event.call);
    server.keep();
  };
  take();
  REQUIRE(requests == std::vector{first});

  REQUIRE(server.reads());
  std::vector<std::byte> lent(distrib::least_read_bytes);
  const distrib::ReadSpace space = server.read_space(lent);
  REQUIRE(space.front.size() == 10'000);
  server.reply(first, {}, distrib::FrameBody{stream::body(5'000)});
  std::copy(bytes.end() - 10'000, bytes.end(), space.front.begin());
  server.bytes_read(10'000, now);
  take();
  CHECK(requests.size() == 1);
  CHECK_FALSE(server.reads());
  CHECK_FALSE(server.ready());
  stream::take_output(server, now);
  CHECK(server.ready());  // nothing more arrives from the peer, which waits
  take();
  CHECK(requests == std::vector{first, second});
}
