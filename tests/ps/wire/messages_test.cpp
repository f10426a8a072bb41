// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/wire/messages.hpp>

#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/rpc/router.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <memory>
#include <vector>

using distrib::JoinItem;
using distrib::JoinRequest;
using distrib::Progress;
using distrib::WireWriter;

namespace {

/// Returns `message` after it was encoded and decoded.
template <class T>
auto carried(const T& message) -> T {
  WireWriter head;
  message.encode(head);
  T read;
  REQUIRE(read.decode(head.view()));
  return read;
}

}  // namespace

TEST_CASE("messages: decoding returns what was encoded", "[ps]") {
  const Progress progress{1ULL << 40, {0, 100, 1ULL << 40}};
  const JoinRequest join = carried(JoinRequest{7, "abc", "the job", {"cuts/here", 500, {3, 1.5}}});
  CHECK(join.rank == 7);
  CHECK(join.job_hash == "abc");
  CHECK(join.job_text == "the job");
  CHECK(join.cuts.directory == "cuts/here");
  CHECK(join.cuts.keep_every == 500);
  CHECK(join.cuts.retention == distrib::Retention{3, 1.5});
  CHECK(carried(JoinRequest{7, "abc", {}, {}}).job_text.empty());
  CHECK_FALSE(join.cuts.incremental);
  distrib::CutSettings links;
  links.incremental = true;
  CHECK(carried(JoinRequest{7, "abc", "the job", links}).cuts.incremental);
  CHECK_FALSE(carried(JoinRequest{7, "abc", {}, links}).cuts.incremental);
  CHECK(carried(JoinItem{JoinItem::Kind::notice, progress, 0}).kind == JoinItem::Kind::notice);
  CHECK(carried(JoinItem{JoinItem::Kind::joined, progress, 0}).progress == progress);
  CHECK(carried(JoinItem{JoinItem::Kind::text_wanted, {}, 0}).progress == Progress{});
  CHECK(carried(distrib::PullRequest{41}).step == 41);
  const JoinItem lost = carried(JoinItem{JoinItem::Kind::rank_lost, {}, 1U << 31});
  CHECK(lost.kind == JoinItem::Kind::rank_lost);
  CHECK(lost.rank == 1U << 31);
  const auto values = carried(distrib::PullReply{progress, false, 1ULL << 33, nullptr});
  CHECK(values.progress == progress);
  CHECK_FALSE(values.gone);
  CHECK(values.counted == 1ULL << 33);
  CHECK(carried(distrib::PullReply{{7, {0}, false, false, true}, true, 0, nullptr}).progress ==
        Progress{7, {0}, false, false, true});
  const auto gone = carried(distrib::PullReply{progress, true, 0, nullptr});
  CHECK(gone.progress == progress);
  CHECK(gone.gone);
  const auto push = carried(distrib::PushRequest{41, 3, 40, nullptr});
  CHECK(push.step == 41);
  CHECK(push.rank == 3);
  CHECK(push.common_cut == 40);
  CHECK_FALSE(push.pull_follows);
  CHECK(carried(distrib::PushRequest{41, 3, 40, nullptr, true}).pull_follows);
  CHECK(carried(distrib::PushReply{progress, false}).progress == progress);
  CHECK(carried(distrib::PushReply{{7, {0}, true}, false}).progress == Progress{7, {0}, true});
  CHECK(carried(distrib::PushReply{{0, {0}, false, true}, false}).progress == Progress{0, {0}, false, true});
  CHECK_FALSE(carried(distrib::PushReply{progress, false}).not_repeatable);
  CHECK(carried(distrib::PushReply{progress, true}).not_repeatable);
  CHECK(carried(distrib::RestoreRequest{5}).cut == 5);
  CHECK(carried(distrib::RestoreRequest{5}).lineage == 0);
  CHECK(carried(distrib::RestoreRequest{5, 1ULL << 63}).lineage == 1ULL << 63);
  CHECK(push.history == 0);
  CHECK(carried(distrib::PushRequest{41, 3, 40, nullptr, true, 77}).history == 77);
  CHECK(carried(distrib::CatchUpRequest{1ULL << 40}).done == 1ULL << 40);
  const auto asked = carried(distrib::StateRequest{"abc", 40, 1ULL << 34});
  CHECK(asked.job_hash == "abc");
  CHECK(asked.have == 40);
  CHECK(asked.at == 1ULL << 34);
  const auto state = carried(distrib::StateReply{41, {0, 1ULL << 34, 5}, nullptr});
  CHECK(state.step == 41);
  CHECK(state.sizes == std::vector<std::uint64_t>{0, 1ULL << 34, 5});
  CHECK(state.lineage.empty());
  CHECK(carried(distrib::StateReply{41, {5}, nullptr, "0 ab\n"}).lineage == "0 ab\n");
  CHECK(carried(distrib::StateReply{}).step == 0);
}

TEST_CASE("messages: what is exported is sent with the text of the job, and a push names the step's export", "[ps]") {
  distrib::CutSettings cuts{"here", 5, {}};
  cuts.exports = {"log", 100, {}, distrib::FloatFormat::bfloat16};
  CHECK(carried(JoinRequest{1, "abc", "the job", cuts}).cuts.exports == cuts.exports);
  CHECK(carried(JoinRequest{1, "abc", {}, cuts}).cuts.exports == distrib::ExportSettings{});
  cuts.exports = {"log", 0, std::chrono::milliseconds{500}};
  CHECK(carried(JoinRequest{1, "abc", "the job", cuts}).cuts.exports == cuts.exports);
  distrib::PushRequest push{41, 3, 40, nullptr};
  CHECK(carried(push).export_number == 0);
  push.export_number = 1ULL << 40;
  CHECK(carried(push).export_number == 1ULL << 40);
}

TEST_CASE("messages: which ranks a process serves, and shall serve", "[ps]") {
  using Ranks = std::vector<distrib::Rank>;
  const distrib::AskRanksRequest asked =
      carried(distrib::AskRanksRequest{1ULL << 63, 300, true, false, 1U << 20, {0, 1, 300, (1U << 20) - 1}});
  CHECK(asked.process == 1ULL << 63);
  CHECK(asked.index == 300);
  CHECK(asked.is_chief);
  CHECK_FALSE(asked.leaves);
  CHECK(asked.ranks == 1U << 20);
  CHECK(asked.serves == Ranks{0, 1, 300, (1U << 20) - 1});
  const distrib::AskRanksRequest leaves = carried(distrib::AskRanksRequest{7, 0, false, true, 16, {}});
  CHECK(leaves.leaves);
  CHECK(leaves.serves.empty());
  CHECK(carried(distrib::AskRanksReply{{0}, false}).serve == Ranks{0});
  CHECK(carried(distrib::AskRanksReply{{3, 5, 6}, false}).serve == Ranks{3, 5, 6});
  CHECK_FALSE(carried(distrib::AskRanksReply{{3}, false}).over);
  CHECK(carried(distrib::AskRanksReply{{}, true}).over);

  const auto decodes = [](const auto& message) {
    WireWriter head;
    message.encode(head);
    return std::decay_t<decltype(message)>{}.decode(head.view());
  };
  CHECK(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {15}}));
  CHECK_FALSE(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {16}}));
  CHECK(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {16, 63}, 64}));
  CHECK(carried(distrib::AskRanksRequest{7, 0, false, false, 16, {16, 63}, 64}).most_ranks == 64);
  CHECK_FALSE(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {16, 64}, 64}));
  CHECK_FALSE(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {3, 3}}));
  CHECK_FALSE(decodes(distrib::AskRanksRequest{7, 0, false, false, 16, {4, 3}}));
  CHECK_FALSE(decodes(distrib::AskRanksRequest{0, 0, false, false, 16, {3}}));  // a process without a number
  CHECK_FALSE(decodes(distrib::AskRanksReply{{1U << 20}, false}));
  CHECK_FALSE(decodes(distrib::AskRanksReply{{9, 9}, false}));
}

TEST_CASE("messages: a Join names its process only if ranks are dealt", "[ps]") {
  JoinRequest join{7, "abc", {}, {}};
  WireWriter plain;
  join.encode(plain);
  CHECK(distrib::to_hex(plain.view()) == "08071203616263");
  CHECK(carried(join).process == 0);
  join.process = 3;
  CHECK(carried(join).process == 3);
}

TEST_CASE("messages: a Join and a push name a block of ranks", "[ps]") {
  JoinRequest join{8, "abc", {}, {}};
  CHECK(carried(join).ranks() == distrib::RankBlock{8});
  join.level = 3;
  CHECK(carried(join).ranks() == distrib::RankBlock{8, 3});
  const auto push = carried(distrib::PushSumRequest{{41, 8, 40, nullptr, true, 77, 5}, 3});
  CHECK(push.step == 41);
  CHECK(push.rank == 8);
  CHECK(push.common_cut == 40);
  CHECK(push.pull_follows);
  CHECK(push.history == 77);
  CHECK(push.export_number == 5);
  CHECK(push.level == 3);

  const auto decodes = [](const auto& message) {
    WireWriter head;
    message.encode(head);
    return std::decay_t<decltype(message)>{}.decode(head.view());
  };
  CHECK_FALSE(decodes(distrib::PushSumRequest{{41, 8, 40, nullptr}, 0}));
  CHECK_FALSE(decodes(distrib::PushSumRequest{{41, 8, 40, nullptr}, 21}));
  join.level = 21;
  CHECK_FALSE(decodes(join));
}

TEST_CASE("messages: a message without a history is encoded as by versions that had no histories", "[ps]") {
  const auto bytes_of = [](const auto& message) {
    WireWriter head;
    message.encode(head);
    return distrib::to_hex(head.view());
  };
  const Progress progress{7, {0, 5}};
  CHECK(bytes_of(distrib::PushReply{progress, false}) ==
        "0a0608071202"
        "0005");
  CHECK(bytes_of(distrib::PushRequest{41, 3, 40, nullptr}) == "082910031828");
  CHECK(bytes_of(distrib::RestoreRequest{5}) == "0805");

  Progress told = progress;
  told.history = 0x0102030405060708;
  told.all_cuts = {{0, 9}, {5, 10}, {200, 11}};
  CHECK(carried(JoinItem{JoinItem::Kind::joined, told, 0}).progress == told);
  CHECK(bytes_of(distrib::PushReply{told, false})
            .starts_with("0a2d"
                         "08071202"
                         "0005"
                         "310807060504030201"));
}

TEST_CASE("messages: a message that does not decode is refused", "[ps]") {
  Progress progress;
  CHECK(distrib::decode_progress({}, progress));
  WireWriter cuts;
  cuts.message(2, [](WireWriter& packed) {
    packed.raw_varint(5);
    packed.raw_varint(5);
  });
  CHECK_FALSE(distrib::decode_progress(cuts.view(), progress));  // steps must ascend
  WireWriter half;
  half.bytes(2, distrib::as_bytes("\x80"));
  CHECK_FALSE(distrib::decode_progress(half.view(), progress));
  for (const std::string_view bad : {std::string_view{"\x05", 1},
                                     std::string_view{"\x05"
                                                      "1234567",
                                                      8},
                                     std::string_view{"\x05"
                                                      "12345678\x05"
                                                      "12345678",
                                                      18},
                                     std::string_view{"\x05"
                                                      "12345678\x80",
                                                      10}}) {
    WireWriter names;
    names.bytes(7, distrib::as_bytes(bad));
    // each cut must have a lineage, and steps must ascend
    CHECK_FALSE(distrib::decode_progress(names.view(), progress));
  }
  WireWriter nested;
  nested.bytes(1, cuts.view());
  distrib::PushReply push;
  CHECK_FALSE(push.decode(nested.view()));
  distrib::PullReply pull;
  CHECK_FALSE(pull.decode(nested.view()));

  JoinItem item;
  CHECK_FALSE(item.decode({}));  // an item without a kind
  WireWriter kind;
  kind.varint(1, 5);
  CHECK_FALSE(item.decode(kind.view()));
  WireWriter far;
  far.varint(1, 257);  // 257 must not be truncated to 1
  CHECK_FALSE(item.decode(far.view()));
  WireWriter twice;
  twice.varint(1, 1);
  twice.bytes(2, cuts.view());
  twice.bytes(2, {});
  CHECK_FALSE(item.decode(twice.view()));
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

TEST_CASE("messages: cut settings are sent only with the text of the job", "[ps]") {
  const JoinRequest join = carried(JoinRequest{7, "abc", {}, {"cuts/here", 500, {.max_to_keep = 3}}});
  CHECK(join.cuts.directory.empty());
  CHECK(join.cuts.keep_every == 0);
}

TEST_CASE("messages: a Join carries the arithmetic of its worker, with the text and without it", "[ps]") {
  const auto bytes_of = [](const JoinRequest& join) {
    WireWriter head;
    join.encode(head);
    return distrib::to_hex(head.view());
  };
  CHECK(carried(JoinRequest{7, "abc", {}, {}, "torch 2"}).arithmetic == "torch 2");
  CHECK(carried(JoinRequest{7, "abc", "the job", {"cuts/here", 500, {3, 1.5}}, "torch 2"}).arithmetic == "torch 2");
  // Without it the bytes are those of versions that had none; with it, it is the last field.
  CHECK(bytes_of({7, "abc", {}, {}, {}}) == "08071203616263");
  CHECK(bytes_of({7, "abc", {}, {}, "t"}) == "08071203616263420174");
  CHECK(bytes_of({7, "abc", "j", {"c", 5, {3, 0}}, {}}) == "080712036162631a016a22016328053003");
  CHECK(bytes_of({7, "abc", "j", {"c", 5, {3, 0}}, "t"}) == "080712036162631a016a22016328053003420174");

  JoinRequest join;
  for (const std::string& bad : {std::string(distrib::max_arithmetic_bytes + 1, 'x'), std::string{"a\nb"},
                                 std::string{"a\x7f"}, std::string(1, '\0')}) {
    WireWriter head;
    head.text(8, bad);
    CHECK_FALSE(join.decode(head.view()));
  }
  CHECK(carried(JoinRequest{7, "abc", {}, {}, std::string(distrib::max_arithmetic_bytes, 'x')}).arithmetic.size() ==
        distrib::max_arithmetic_bytes);
}

TEST_CASE("messages: a Join says whether its process has begun a contribution, and is as before if not", "[ps]") {
  distrib::WireWriter with, without;
  JoinRequest{7, "abc", {}, {}, {}, true}.encode(with);
  JoinRequest{7, "abc", {}, {}}.encode(without);
  CHECK(with.view().size() == without.view().size() + 2);
  CHECK(carried(JoinRequest{7, "abc", {}, {}, {}, true}).has_begun);
  CHECK_FALSE(carried(JoinRequest{7, "abc", {}, {}}).has_begun);
}

TEST_CASE("messages: a Look names a step, or asks for the newest one", "[ps]") {
  const auto step = carried(distrib::LookRequest{"abc", 0});
  CHECK(step.job_hash == "abc");
  CHECK(step.step == 0);
  CHECK_FALSE(step.newest);
  CHECK(carried(distrib::LookRequest{"abc", distrib::end_of_job}).step == distrib::end_of_job);
  CHECK(carried(distrib::LookRequest{"abc", 0, true}).newest);
  WireWriter head;
  distrib::LookRequest{"abc", 5, true}.encode(head);
  CHECK(distrib::to_hex(head.view()) == "0a0361626310051801");
  distrib::LookRequest damaged;
  CHECK_FALSE(damaged.decode(head.view().first(4)));
}

TEST_CASE("messages: who waits for the end of a job names it", "[ps]") {
  CHECK(carried(distrib::AwaitEndRequest{"abc"}).job_hash == "abc");
  WireWriter head;
  distrib::AwaitEndRequest{"abc"}.encode(head);
  CHECK(distrib::to_hex(head.view()) == "0a03616263");
  distrib::AwaitEndRequest damaged;
  CHECK_FALSE(damaged.decode(head.view().first(4)));
}

TEST_CASE("messages: keys to erase, and the answer", "[ps]") {
  const std::vector<std::uint64_t> keys{7, 5, ~std::uint64_t{0}};
  const auto asked = carried(distrib::EraseRequest{"deep/users", keys, "ann@host"});
  CHECK(asked.table == "deep/users");
  CHECK(asked.keys == keys);
  CHECK(asked.who == "ann@host");
  CHECK(carried(distrib::EraseRequest{"t", {}, std::string(1000, 'x')}).who == std::string(200, 'x'));
  const auto answer = carried(distrib::EraseReply{{5, 7}, 58, 57});
  CHECK(answer.keys == std::vector<std::uint64_t>{5, 7});
  CHECK(answer.after == 58);
  CHECK(answer.step == 57);
  WireWriter many;
  distrib::EraseRequest{"t", std::vector<std::uint64_t>(distrib::max_erased_at_once + 1)}.encode(many);
  distrib::EraseRequest ignored;
  CHECK_FALSE(ignored.decode(many.view()));
  WireWriter half;
  half.bytes(2, distrib::as_bytes("1234567"));
  CHECK_FALSE(ignored.decode(half.view()));
  WireWriter half_answer;
  half_answer.bytes(1, distrib::as_bytes("1234567"));
  distrib::EraseReply none;
  CHECK_FALSE(none.decode(half_answer.view()));
}

TEST_CASE("messages: a client knows the errors of shards by their categories", "[ps]") {
  const auto carry = [](std::error_code code) {
    WireWriter head;
    distrib::encode_error(head, code, "here");
    return distrib::decode_error(head.view(), distrib::ps_categories());
  };
  CHECK(carry(distrib::ps_errc::rank_lost).code == distrib::ps_errc::rank_lost);
  CHECK(carry(distrib::checkpoint_errc{1}).code == distrib::checkpoint_errc{1});
  CHECK(carry(std::make_error_code(std::errc::permission_denied)).code.category() == distrib::remote_category());
}

TEST_CASE("messages: all methods have different ids", "[ps]") {
  const auto nothing = [](auto, auto) {};
  distrib::Router router{distrib::on<distrib::Join>(nothing),    distrib::on<distrib::Pull>(nothing),
                         distrib::on<distrib::Push>(nothing),    distrib::on<distrib::Restore>(nothing),
                         distrib::on<distrib::Save>(nothing),    distrib::on<distrib::Leave>(nothing),
                         distrib::on<distrib::Goodbye>(nothing), distrib::on<distrib::Status>(nothing),
                         distrib::on<distrib::CatchUp>(nothing), distrib::on<distrib::State>(nothing),
                         distrib::on<distrib::PushSum>(nothing), distrib::on<distrib::AskRanks>(nothing),
                         distrib::on<distrib::Look>(nothing),    distrib::on<distrib::AwaitEnd>(nothing)};
  static_cast<void>(router);
  SUCCEED();
}

TEST_CASE("messages: ranks that change travel with progress and contributions, and cost nothing otherwise", "[ps]") {
  using distrib::Rank;
  using distrib::RankEntry;
  using distrib::RankLog;
  const auto entry = std::make_shared<const RankEntry>(RankEntry{12, 5, {0, 1, 4}});
  RankLog log{2};
  log.add(entry);
  Progress progress{7, {0}};
  const auto bytes_without = [](const Progress& of) {
    WireWriter head;
    encode_progress(head, 1, of);
    return head.size();
  };
  const std::size_t plain = bytes_without(progress);
  progress.ranks = std::make_shared<const RankLog>(RankLog{2});
  CHECK(bytes_without(progress) == plain);  // the ranks that the job begins with
  progress.ranks = std::make_shared<const RankLog>(log);
  const auto read = carried(distrib::PushReply{progress, false}).progress;
  REQUIRE(read.ranks != nullptr);
  RankLog known{2};
  known.add(*read.ranks);
  CHECK(known == log);
  CHECK(carried(distrib::PushReply{Progress{7, {0}}, false}).progress.ranks == nullptr);
  distrib::PushRequest push{41, 3, 40, nullptr};
  CHECK(carried(push).entry == nullptr);
  push.entry = entry;
  REQUIRE(carried(push).entry != nullptr);
  CHECK(*carried(push).entry == *entry);
  CHECK(carried(push).after == 0);
  push.after = 39;
  CHECK(carried(push).after == 39);
  CHECK(carried(distrib::ScaleRequest{}).entry == nullptr);
  REQUIRE(carried(distrib::ScaleRequest{entry}).entry != nullptr);
  CHECK(*carried(distrib::ScaleRequest{entry}).entry == *entry);
  CHECK(carried(distrib::ScaleRequest{entry, "ann@host"}).who == "ann@host");
  CHECK(carried(distrib::ScaleRequest{nullptr, std::string(1000, 'x')}).who == std::string(200, 'x'));
  const auto empty = std::make_shared<const RankEntry>(RankEntry{12, 5, {}});
  REQUIRE(carried(distrib::ScaleRequest{empty}).entry != nullptr);  // the shard says what is wrong
  CHECK(carried(distrib::ScaleRequest{empty}).entry->ranks.empty());
  const auto reply = carried(distrib::ScaleReply{true, 99, 7});
  CHECK(reply.taken);
  CHECK(reply.horizon == 99);
  CHECK(reply.step == 7);
  CHECK(reply.ranks == nullptr);
  const auto told = carried(distrib::ScaleReply{false, 99, 7, std::make_shared<const RankLog>(log)});
  REQUIRE(told.ranks != nullptr);
  RankLog heard{2};
  heard.add(*told.ranks);
  CHECK(heard == log);
  WireWriter damaged;
  damaged.message(8, [](WireWriter&) {});
  Progress ignored;
  CHECK_FALSE(decode_progress(damaged.view(), ignored));
  CHECK_FALSE(push.decode(damaged.view()));
}
