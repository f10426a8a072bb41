// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/detail/look_desk.hpp>

#include "ps/fake_connection.hpp"
#include "support/catch.hpp"

#include <deque>
#include <string>
#include <vector>

namespace {

using LookCall = distrib::Call<distrib::Look, fake::Connection*>;
using AwaitEndCall = distrib::Call<distrib::AwaitEnd, fake::Connection*>;

/// Connections "0", "1", ... that look.
struct LookDeskBench {
  explicit LookDeskBench(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) connections.emplace_back(std::to_string(i), told);
  }
  void look(std::size_t who, std::uint64_t call, distrib::Step step = 0) {
    fake::Connection& from = connections[who];
    desk.take({"hash", step}, LookCall{&from, from.begin<distrib::Look>(call, {})});
  }
  void await_end(std::size_t who, std::uint64_t call) {
    fake::Connection& from = connections[who];
    desk.await_end(AwaitEndCall{&from, from.begin<distrib::AwaitEnd>(call, {})});
  }
  auto due(distrib::Step step) {
    std::vector<distrib::Peer> peers;
    desk.tell_due([&](const auto& request) { return request.step <= step; },
                  [&](distrib::Peer peer, const auto&) { peers.push_back(peer); });
    return peers;
  }

  std::vector<std::string> told;
  std::deque<fake::Connection> connections;
  distrib::detail::LookDesk<fake::Connection*> desk;
};

}  // namespace

TEST_CASE("LookDesk: serves eight onlookers with a call each, and has a place again when one is gone", "[ps]") {
  LookDeskBench bench{9};
  for (std::size_t who = 0; who < 9; ++who) bench.look(who, 1);
  const std::string refused = " failed: the shard serves no more onlookers: end one that is not needed";
  CHECK(bench.told == std::vector<std::string>{"81" + refused + " (a shard serves 8)"});
  CHECK(bench.desk.size() == 8);
  bench.told.clear();
  bench.look(3, 2);
  CHECK(bench.told == std::vector<std::string>{"32" + refused + " (one call at a time)"});
  bench.told.clear();
  CHECK(bench.desk.closed(&bench.connections[3]) != 0);
  CHECK(bench.desk.closed(&bench.connections[3]) == 0);
  bench.look(8, 2);
  CHECK(bench.told.empty());
  CHECK(bench.desk.size() == 8);
}

TEST_CASE("LookDesk: a call is told to the core once, when it is due, and answered once", "[ps]") {
  LookDeskBench bench{2};
  bench.look(0, 1, 5);
  bench.look(1, 1, 3);
  CHECK(bench.due(2).empty());
  const auto first = bench.due(3);
  REQUIRE(first.size() == 1);
  CHECK(bench.desk.is_onlooker(first[0]));
  CHECK_FALSE(bench.desk.is_onlooker(1));
  CHECK(bench.due(4).empty());
  bench.desk.answer(first[0], {{4, {}}, true, 0, nullptr, {}});
  bench.desk.answer(first[0], {{4, {}}, true, 0, nullptr, {}});
  CHECK(bench.told == std::vector<std::string>{"11 gone k=4 cuts="});
  CHECK(bench.due(5).size() == 1);
  bench.look(1, 2, 3);
  CHECK(bench.due(5) == first);  // the same onlooker
}

TEST_CASE("LookDesk: a cancelled call leaves its place, and makes room for the next call", "[ps]") {
  LookDeskBench bench{2};
  bench.look(0, 1, 5);
  CHECK(bench.desk.cancelled(&bench.connections[1], 1) == 0);
  CHECK(bench.desk.cancelled(&bench.connections[0], 2) == 0);
  CHECK(bench.desk.cancelled(&bench.connections[0], 1) != 0);
  CHECK(bench.due(9).empty());
  bench.connections[0].cancel(1);
  bench.look(0, 2, 5);
  CHECK(bench.due(9).size() == 1);
  bench.desk.end_all(false, distrib::ps_errc::rank_lost, "");
  CHECK(bench.told.size() == 1);
  CHECK(bench.due(9).empty());
}

TEST_CASE("LookDesk: an onlooker waits for the end beside its looks, in the same place", "[ps]") {
  LookDeskBench bench{9};
  for (std::size_t who = 0; who < 9; ++who) bench.await_end(who, 1);
  const std::string refused = " failed: the shard serves no more onlookers: end one that is not needed";
  CHECK(bench.told == std::vector<std::string>{"81" + refused + " (a shard serves 8)"});
  CHECK(bench.desk.size() == 8);
  bench.told.clear();
  bench.look(0, 2, 5);
  bench.await_end(0, 3);
  CHECK(bench.told == std::vector<std::string>{"03" + refused + " (one call at a time)"});
  CHECK(bench.due(5).size() == 1);  // the core does not know of the others
  CHECK(bench.desk.cancelled(&bench.connections[1], 1) == 0);
  bench.connections[1].cancel(1);
  CHECK(bench.desk.closed(&bench.connections[2]) != 0);
  bench.told.clear();
  bench.desk.end_all(true, {}, "");
  CHECK(bench.told.size() == 7);  // the look of one, and the word for six
  CHECK(bench.told.front().starts_with("02 failed: the job is done"));
  CHECK(bench.told.back() == "71 ok");
  bench.told.clear();
  bench.desk.end_all(true, {}, "");
  CHECK(bench.told.empty());
  bench.await_end(1, 4);  // a call of the same onlooker
  bench.desk.end_all(false, distrib::ps_errc::rank_lost, "rank 3");
  REQUIRE(bench.told.size() == 1);
  CHECK(bench.told.front().starts_with("14 failed: "));
}
