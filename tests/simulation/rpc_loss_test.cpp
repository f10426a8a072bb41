// SPDX-License-Identifier: Apache-2.0
// A lost connection ends every call once and at once. The error says whether the call was sent.
#include "simulation/rpc_line.hpp"
#include "support/catch.hpp"

#include <string>

using simulation::CallEnd;
using simulation::ClientEvent;
using simulation::rpc_errc;
using simulation::RpcLine;
using namespace std::chrono_literals;

TEST_CASE("Rpc loss: every call in flight fails once, and all at the same instant", "[simulation]") {
  std::size_t lost = 0;
  std::size_t not_sent = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RpcLine line{seed, {}, {}, {1ms, seed % 4 == 0 ? std::size_t{1} : std::size_t{4096}}};
    line.on_request = [&](std::uint64_t call, const std::string& text) {
      if (line.dice.percent(40)) line.reply(call, text);
    };
    for (int i = 0; i < 60; ++i)
      line.scheduler.after(std::chrono::microseconds{line.dice.below(8'000)}, [&line] { line.call("call"); });
    const auto fate = line.dice.below(3);
    line.scheduler.after(std::chrono::microseconds{line.dice.below(8'000)}, [&line, fate] {
      if (fate == 0) return line.wire->reset();
      if (fate == 1) return line.wire->detach_b();  // the process at the other end died
      line.server.refuse(rpc_errc::protocol, "enough");
      line.soon();
    });
    line.run_for(1s);
    CAPTURE(seed);
    REQUIRE(line.client.reason());
    CHECK(line.client.calls() == 0);
    CHECK(line.ends.size() == 60);
    distrib::Instant at{};
    for (const auto& [call, end] : line.ends) {
      CHECK(end.times == 1);
      if (end.kind != ClientEvent::Kind::failed) continue;
      CHECK((end.code == line.client.reason().code || end.code == rpc_errc::not_sent || end.code == rpc_errc::closed));
      if (end.code == rpc_errc::closed) continue;  // made later
      if (at == distrib::Instant{}) at = end.at;
      CHECK(end.at == at);
      if (end.code == rpc_errc::not_sent) {
        ++not_sent;
        CHECK_FALSE(line.seen.contains(call));
      } else {
        ++lost;
      }
    }
  }
  CHECK(lost > 1000);
  CHECK(not_sent > 100);
}

TEST_CASE("Rpc loss: a call counts as not sent until a part of it was passed to the system", "[simulation]") {
  RpcLine line{1};
  line.run_for(10ms);  // the greeting is written
  const auto handed_over = line.call("a");
  line.scheduler.step();  // flush: it is being written
  const auto behind = line.call("b");
  line.wire->reset();
  line.run_for(1s);
  CHECK(line.ends[handed_over].code == rpc_errc::lost);
  CHECK(line.ends[behind].code == rpc_errc::not_sent);
  const auto later = line.call("c");
  line.run_for(1s);
  CHECK(line.ends[later].code == rpc_errc::closed);
}

TEST_CASE("Rpc loss: a caller that calls again at the end of a call does not recurse", "[simulation]") {
  // As a shell passes it on: it asks the core for the next event, and the caller calls at once.
  distrib::ClientCore client{{}, distrib::Instant{1h}};
  client.lost({});
  const distrib::Instant now{1h};
  static_cast<void>(client.call(1, {}, nullptr, {}, now));
  ClientEvent event;
  int refused = 0;
  while (refused < 100'000 && client.next(now, event)) {
    REQUIRE(event.error.code == rpc_errc::closed);
    ++refused;
    static_cast<void>(client.call(1, {}, nullptr, {}, now));
  }
  CHECK(refused == 100'000);
  CHECK(client.calls() == 1);
}
