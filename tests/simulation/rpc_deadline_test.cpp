// SPDX-License-Identifier: Apache-2.0
// A deadline ends its call in time, and no other call.
#include "simulation/rpc_line.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <vector>

using simulation::CallEnd;
using simulation::rpc_errc;
using simulation::RpcLine;
using namespace std::chrono_literals;

TEST_CASE("Rpc deadline: hundreds of deadlines pass at most max(5 ms, 10 %) late and never early", "[simulation]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RpcLine line{seed, {}, {}, {1ms, seed % 5 == 0 ? std::size_t{1} : std::size_t{4096}}};
    line.on_request = [&](std::uint64_t call, const std::string& text) {
      if (text == "neighbour") line.scheduler.after(30s, [&line, call] { line.reply(call, "answer"); });
    };
    struct Limited {
      std::uint64_t call;
      distrib::Instant from;
      std::chrono::microseconds within;
    };
    std::vector<Limited> limited;
    std::vector<std::uint64_t> neighbours;
    for (int i = 0; i < 300; ++i) {
      line.run_for(std::chrono::microseconds{line.dice.below(20'000)});
      if (i % 10 == 0) neighbours.push_back(line.call("neighbour"));
      // From 1 ms, most of them short.
      const std::chrono::microseconds within{1'000 + line.dice.below(std::uint64_t{1} << line.dice.between(4, 24))};
      limited.push_back({line.call("never", within), line.now(), within});
    }
    line.run_for(60s);
    CAPTURE(seed);
    for (const Limited& one : limited) {
      const CallEnd& end = line.ends[one.call];
      CHECK(end.times == 1);
      CHECK(end.code == rpc_errc::deadline_passed);
      const auto took = end.at - one.from;
      CHECK(took >= one.within);
      CHECK(took <= one.within + std::max<std::chrono::steady_clock::duration>(5ms, one.within / 10));
    }
    for (const std::uint64_t call : neighbours) CHECK(line.ends[call].head == "answer");
    CHECK(line.server.calls() == 0);  // the server has got the cancellations
    CHECK_FALSE(line.client.reason());
    CHECK_FALSE(line.server.reason());
  }
}
