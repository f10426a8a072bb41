// SPDX-License-Identifier: Apache-2.0
// A server that drains answers the calls that it has accepted, and accepts no more.
#include "simulation/rpc_line.hpp"
#include "support/catch.hpp"

#include <string>

using simulation::CallEnd;
using simulation::ClientEvent;
using simulation::rpc_errc;
using simulation::RpcLine;
using namespace std::chrono_literals;

TEST_CASE("Rpc drain: calls that were accepted are answered, the others are refused, and the connection ends",
          "[simulation]") {
  std::size_t answered_after = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RpcLine line{seed, {}, {}, {1ms, seed % 4 == 0 ? std::size_t{1} : std::size_t{4096}}};
    distrib::Instant drained = distrib::Instant::max();
    line.on_request = [&](std::uint64_t call, const std::string& text) {
      CHECK(line.now() <= drained);
      line.scheduler.after(std::chrono::microseconds{line.dice.below(20'000)}, [&, call, text] {
        answered_after += line.now() > drained ? 1U : 0U;
        line.reply(call, text);
      });
    };
    for (int i = 0; i < 60; ++i)
      line.scheduler.after(std::chrono::microseconds{line.dice.below(10'000)},
                           [&line, i] { line.call(std::to_string(i)); });
    line.scheduler.after(std::chrono::microseconds{3'000 + line.dice.below(7'000)}, [&] {
      drained = line.now();
      line.server.drain(line.now() + 1min);
      line.soon();
    });
    line.run_for(1s);
    CAPTURE(seed);
    CHECK(line.server.finished());
    CHECK(line.server.calls() == 0);
    CHECK_FALSE(line.server.reason());  // this end is no error
    CHECK(line.ends.size() == 60);
    for (const auto& [call, end] : line.ends) {
      CHECK(end.times == 1);
      if (line.seen.contains(call)) {
        CHECK(end.kind == ClientEvent::Kind::reply);
      } else {
        ++refused;
        // A call that was on its way at the end is lost; the others fail with `closed`.
        CHECK((end.code == rpc_errc::closed || end.code == rpc_errc::lost || end.code == rpc_errc::not_sent));
      }
    }
  }
  CHECK(answered_after > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("Rpc drain: a client that closes gets its answers first", "[simulation]") {
  RpcLine line{3};
  line.on_request = [&](std::uint64_t call, const std::string& text) {
    line.scheduler.after(1s, [&line, call, text] { line.reply(call, text); });
  };
  const auto call = line.call("last");
  line.run_for(100ms);
  line.client.close();
  const auto refused = line.call("too late");
  line.run_for(100ms);
  CHECK(line.ends[refused].code == rpc_errc::closed);
  CHECK_FALSE(line.client.finished());
  line.run_for(2s);
  CHECK(line.ends[call].head == "last");
  CHECK(line.client.finished());
  CHECK_FALSE(line.client.reason());
  CHECK(line.server.finished());
}
