// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/methods.hpp>

#include <distrib/rpc/router.hpp>

#include "support/catch.hpp"

using distrib::JoinItem;
using distrib::JoinRequest;
using distrib::Progress;
using distrib::WireWriter;

namespace {

/// What is left of a message that was written and read.
template <class T>
auto carried(const T& message) -> T {
  WireWriter head;
  message.encode(head);
  T read;
  REQUIRE(read.decode(head.view()));
  return read;
}

}  // namespace

TEST_CASE("methods: messages are written and read back", "[ps]") {
  const Progress progress{1ULL << 40, {0, 100, 1ULL << 40}};
  const JoinRequest join = carried(JoinRequest{7, "abc", "the job"});
  CHECK(join.rank == 7);
  CHECK(join.job_hash == "abc");
  CHECK(join.job_text == "the job");
  CHECK(carried(JoinRequest{7, "abc", {}}).job_text.empty());
  CHECK(carried(JoinItem{JoinItem::Kind::notice, progress}).kind == JoinItem::Kind::notice);
  CHECK(carried(JoinItem{JoinItem::Kind::joined, progress}).progress == progress);
  CHECK(carried(JoinItem{JoinItem::Kind::text_wanted, {}}).progress == Progress{});
  CHECK(carried(distrib::PullRequest{41}).step == 41);
  CHECK(carried(distrib::PullReply{{progress}, nullptr}).progress == progress);
  const auto push = carried(distrib::PushRequest{41, 3, 40, nullptr});
  CHECK(push.step == 41);
  CHECK(push.rank == 3);
  CHECK(push.common_cut == 40);
  CHECK(carried(distrib::PushReply{progress}).progress == progress);
  CHECK(carried(distrib::RestoreRequest{5}).cut == 5);
}

TEST_CASE("methods: what does not decode is refused", "[ps]") {
  Progress progress;
  CHECK(distrib::decode_progress({}, progress));
  WireWriter cuts;
  cuts.message(2, [](WireWriter& packed) {
    packed.raw_varint(5);
    packed.raw_varint(5);
  });
  CHECK_FALSE(distrib::decode_progress(cuts.view(), progress));  // they ascend
  WireWriter half;
  half.bytes(2, distrib::as_bytes("\x80"));
  CHECK_FALSE(distrib::decode_progress(half.view(), progress));
  WireWriter nested;
  nested.bytes(1, cuts.view());
  distrib::PushReply push;
  CHECK_FALSE(push.decode(nested.view()));
  distrib::PullReply pull;
  CHECK_FALSE(pull.decode(nested.view()));

  JoinItem item;
  CHECK_FALSE(item.decode({}));  // of no kind
  WireWriter kind;
  kind.varint(1, 4);
  CHECK_FALSE(item.decode(kind.view()));
  const auto damaged = distrib::as_bytes("\x0a");
  JoinRequest join;
  distrib::PullRequest pulled;
  distrib::PushRequest pushed;
  distrib::RestoreRequest restore;
  CHECK_FALSE(join.decode(damaged));
  CHECK_FALSE(pulled.decode(damaged));
  CHECK_FALSE(pushed.decode(damaged));
  CHECK_FALSE(restore.decode(damaged));
}

TEST_CASE("methods: their ids differ", "[ps]") {
  const auto nothing = [](auto, auto) {};
  distrib::Router router{distrib::on<distrib::Join>(nothing),    distrib::on<distrib::Pull>(nothing),
                         distrib::on<distrib::Push>(nothing),    distrib::on<distrib::Restore>(nothing),
                         distrib::on<distrib::Save>(nothing),    distrib::on<distrib::Leave>(nothing),
                         distrib::on<distrib::Goodbye>(nothing)};
  static_cast<void>(router);
  SUCCEED();
}
