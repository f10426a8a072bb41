// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/state_fetch_core.hpp>

#include <distrib/rpc/error.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

namespace {

constexpr std::uint64_t plenty = std::numeric_limits<std::uint64_t>::max();
const Instant begin{1h};

auto job() -> Job { return cuts::make_job(2, 2); }
auto cut_of(Step step) -> Cut { return cuts::make_cuts(job(), step).front(); }

/// Returns the other replica's answer to a request from byte `at` on: all of a block at once.
auto piece(Step step, std::uint64_t at = 0) -> StateReply { return CutPieces{cut_of(step)}.piece(at, 1U << 20); }

/// The fetch for replica 0 of shard 0, which is at step 4, with a shell that records the actions.
struct FetchBench {
  explicit FetchBench(std::uint64_t most_bytes = plenty) : core{job(), 0, cuts::updaters, "hash", 4, most_bytes, 60s} {}

  void operator()(ConnectToSibling action) {
    told.push_back("connect until " + since(action.until) + ", pauses of " +
                   std::to_string(action.longest_pause.count()));
  }
  void operator()(const AskSibling& action) {
    told.push_back("ask " + action.request.job_hash + " newer than " + std::to_string(action.request.have) + " from " +
                   std::to_string(action.request.at) + " within " + std::to_string(action.within.count()));
  }
  void operator()(AskSiblingLater action) { told.push_back("wake at " + since(action.at)); }
  void operator()(StateFetched action) {
    told.push_back(action.cut ? "fetched " + std::to_string(action.cut->step) : "nothing");
    cut = std::move(action.cut);
  }

  static auto since(Instant at) -> std::string { return std::to_string((at - begin) / 1ms); }

  auto starts() -> std::function<void()> {
    return [this] { core.start(begin, *this); };
  }
  auto connects() -> std::function<void()> {
    return [this] { core.connected(*this); };
  }
  auto answers(StateReply reply) -> std::function<void()> {
    return [this, reply = std::move(reply)] { core.answered(reply, *this); };
  }
  auto fails(const std::error_code& why, std::chrono::milliseconds after) -> std::function<void()> {
    return [this, why, after] { core.failed(why, begin + after, *this); };
  }
  auto wakes() -> std::function<void()> {
    return [this] { core.woken(*this); };
  }

  struct Event {
    const char* what;  ///< Describes the event; shown if the check fails.
    std::function<void()> happens;
    Texts expected;  ///< What the shell must do then.
  };
  void tell(const std::vector<Event>& events) {
    for (const Event& event : events) {
      told.clear();
      event.happens();
      CAPTURE(event.what);
      CHECK(told == event.expected);
    }
  }

  StateFetchCore core;
  Texts told;
  std::optional<Cut> cut;
};

const char* const connects = "connect until 2000, pauses of 50";
const char* const asks = "ask hash newer than 4 from 0 within 60000";

}  // namespace

TEST_CASE("StateFetchCore: a state arrives in pieces until it is complete", "[ps]") {
  FetchBench bench;
  const std::string values = std::to_string(cut_of(7).values->size());
  bench.tell({
      {"begins", bench.starts(), {connects}},
      {"connected", bench.connects(), {asks}},
      {"the values", bench.answers(piece(7)), {"ask hash newer than 4 from " + values + " within 60000"}},
      {"the slot", bench.answers(piece(7, cut_of(7).values->size())), {"fetched 7"}},
  });
  REQUIRE(bench.cut);
  CHECK(cuts::same_bytes(bench.cut->values, cut_of(7).values));
  CHECK(cuts::same_bytes(bench.cut->slots.front(), cut_of(7).slots.front()));
}

TEST_CASE("StateFetchCore: ends without a state if the other replica cannot be reached or has no newer state", "[ps]") {
  FetchBench away;
  away.tell({
      {"begins", away.starts(), {connects}},
      {"it cannot be reached", [&] { away.core.not_connected(away); }, {"nothing"}},
  });
  for (const Step step : {0U, 3U, 4U}) {
    FetchBench bench;
    StateReply reply = piece(7);
    reply.step = step;
    CAPTURE(step);
    bench.tell({
        {"begins", bench.starts(), {connects}},
        {"connected", bench.connects(), {asks}},
        {"it is not ahead", bench.answers(std::move(reply)), {"nothing"}},
    });
  }
}

TEST_CASE("StateFetchCore: a replica that does not know the job yet is asked again for two seconds", "[ps]") {
  FetchBench bench;
  bench.tell({
      {"begins", bench.starts(), {connects}},
      {"connected", bench.connects(), {asks}},
      {"it does not know the job", bench.fails(ps_errc::not_joined, 20ms), {"wake at 70"}},
      {"time has passed", bench.wakes(), {asks}},
      {"it still does not know the job", bench.fails(ps_errc::not_joined, 1'999ms), {"wake at 2049"}},
      {"time has passed", bench.wakes(), {asks}},
      {"too late", bench.fails(ps_errc::not_joined, 2'100ms), {"nothing"}},
  });
}

TEST_CASE("StateFetchCore: ends without a state if the other replica is lost during the fetch", "[ps]") {
  FetchBench bench;
  bench.tell({
      {"begins", bench.starts(), {connects}},
      {"connected", bench.connects(), {asks}},
      {"the values",
       bench.answers(piece(7)),
       {"ask hash newer than 4 from " + std::to_string(cut_of(7).values->size()) + " within 60000"}},
      {"the connection is lost", bench.fails(rpc_errc::lost, 30ms), {"nothing"}},
  });
  FetchBench first;
  first.tell({
      {"begins", first.starts(), {connects}},
      {"connected", first.connects(), {asks}},
      {"the connection is lost at once", first.fails(rpc_errc::not_sent, 1ms), {"nothing"}},
  });
}

TEST_CASE("StateFetchCore: pieces that belong to no state of this shard are refused", "[ps]") {
  StateReply other_step = piece(8, cut_of(8).values->size());
  StateReply too_large = piece(7);
  too_large.sizes.front() += 64;
  FetchBench bench;
  bench.tell({
      {"begins", bench.starts(), {connects}},
      {"connected", bench.connects(), {asks}},
      {"the values",
       bench.answers(piece(7)),
       {"ask hash newer than 4 from " + std::to_string(cut_of(7).values->size()) + " within 60000"}},
      {"a slot of another cut", bench.answers(std::move(other_step)), {"nothing"}},
  });
  FetchBench sizes;
  sizes.tell({
      {"begins", sizes.starts(), {connects}},
      {"connected", sizes.connects(), {asks}},
      {"sizes of another shard", sizes.answers(std::move(too_large)), {"nothing"}},
  });
  const Cut cut = cut_of(7);
  FetchBench memory{cut.values->size() + cut.slots.front()->size() - 1};
  memory.tell({
      {"begins", memory.starts(), {connects}},
      {"connected", memory.connects(), {asks}},
      {"more than there is memory for", memory.answers(piece(7)), {"nothing"}},
  });
}
