// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/peer_calls.hpp>

#include "ps/fake_connection.hpp"
#include "support/catch.hpp"

using distrib::JoinItem;
using distrib::PullReply;
using Texts = std::vector<std::string>;

namespace {

struct CallingPeer {
  Texts told;
  fake::Connection connection{"a", told};
  distrib::PeerCalls<fake::Connection*> calls;

  void join(std::uint64_t call) { calls.join({&connection, connection.begin<distrib::Join>(call, {})}); }
  void park(std::uint64_t call, distrib::Step step) {
    calls.park(step, {&connection, connection.begin<distrib::Pull>(call, {step})});
  }
  void answer(distrib::Step step) { calls.answer(step, PullReply{{step, {0}}, true, 0, nullptr}); }
};

}  // namespace

TEST_CASE("PeerCalls: sends items on the stream until it is over", "[ps]") {
  CallingPeer peer;
  peer.calls.tell(JoinItem::Kind::notice, {1, {0}});  // there is no stream
  peer.calls.tell_lost(7);
  peer.calls.end();
  peer.calls.refuse(distrib::ps_errc::bad_job, "");
  CHECK_FALSE(peer.calls.joined());
  CHECK(peer.told.empty());

  peer.join(1);
  CHECK(peer.calls.joined());
  peer.calls.tell(JoinItem::Kind::joined, {1, {0}});
  peer.calls.tell_lost(7);
  peer.calls.end();
  CHECK_FALSE(peer.calls.joined());
  peer.calls.end();
  peer.join(2);
  peer.calls.refuse(distrib::ps_errc::bad_job, "here");
  CHECK_FALSE(peer.calls.joined());
  CHECK(
      peer.told ==
      Texts{
          "a1 joined k=1 cuts=0", "a1 lost rank 7", "a1 end",
          "a2 failed: this server cannot use the job description: run one version of the program on all tasks (here)"});
}

TEST_CASE("PeerCalls: an item without credit is owed, and sent with the progress of a later time", "[ps]") {
  CallingPeer peer;
  peer.join(1);
  peer.calls.tell_owed({9, {0}});  // nothing is owed
  peer.connection.credit = 0;
  peer.calls.tell(JoinItem::Kind::notice, {1, {0}});
  peer.calls.tell(JoinItem::Kind::joined, {2, {0}});
  peer.calls.tell(JoinItem::Kind::notice, {3, {0}});
  peer.calls.tell_owed({4, {0}});  // still without credit
  peer.connection.credit = 9;
  peer.calls.tell_owed({5, {0}});
  peer.calls.tell_owed({6, {0}});  // only once
  peer.connection.credit = 0;
  peer.calls.tell(JoinItem::Kind::notice, {7, {0}});
  peer.connection.credit = 9;
  peer.calls.tell_owed({8, {0}});
  CHECK(peer.told == Texts{"a1 joined k=5 cuts=0", "a1 notice k=8 cuts=0"});
}

TEST_CASE("PeerCalls: a new stream is owed nothing", "[ps]") {
  CallingPeer peer;
  peer.join(1);
  peer.connection.credit = 0;
  peer.calls.tell(JoinItem::Kind::joined, {1, {0}});
  peer.calls.end();
  peer.join(2);
  peer.connection.credit = 9;
  peer.calls.tell_owed({2, {0}});
  CHECK(peer.told == Texts{"a1 end"});
}

TEST_CASE("PeerCalls: a lost rank is reported even without credit", "[ps]") {
  CallingPeer peer;
  peer.join(1);
  peer.connection.credit = 0;
  peer.calls.tell_lost(3);
  CHECK_FALSE(peer.calls.joined());
  CHECK(peer.told == Texts{"a1 failed: a worker is lost permanently: find out why, then start the job again (rank 3)"});
}

TEST_CASE("PeerCalls: pulls of a step are answered in order of arrival", "[ps]") {
  CallingPeer peer;
  peer.park(1, 5);
  peer.park(2, 6);
  peer.park(3, 5);
  CHECK(peer.calls.parked() == 3);
  CHECK(peer.calls.came(5) == distrib::Instant{});
  peer.answer(5);
  peer.answer(7);  // no pull of this step
  peer.answer(6);
  peer.answer(5);
  peer.answer(5);
  CHECK(peer.told == Texts{"a1 gone k=5 cuts=0", "a2 gone k=6 cuts=0", "a3 gone k=5 cuts=0"});
}

TEST_CASE("PeerCalls: calls that are cancelled, or never answered", "[ps]") {
  CallingPeer peer;
  peer.join(1);
  peer.park(2, 5);
  peer.park(3, 5);
  peer.park(4, 6);
  CHECK_FALSE(peer.calls.forget(9));
  CHECK_FALSE(peer.calls.forget(2));
  peer.connection.cancel(2);
  CHECK(peer.calls.joined());
  peer.answer(5);  // the answer to the cancelled pull
  CHECK(peer.told.empty());
  peer.answer(5);
  CHECK(peer.calls.forget(1));
  CHECK_FALSE(peer.calls.joined());
  CHECK_FALSE(peer.calls.forget(1));
  peer.calls.fail_pulls(distrib::rpc_errc::cancelled);
  peer.calls.fail_pulls(distrib::rpc_errc::cancelled);
  CHECK(peer.told == Texts{"a3 gone k=5 cuts=0", "a4 failed: the call was cancelled"});
}
