// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_shard_core.hpp>

#include "support/catch.hpp"

#include <distrib/stream_log/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using distrib::SharedStreamLog;
using distrib::StreamLog;
using distrib::StreamLogId;
using distrib::StreamShardCore;

auto range_of_shard(std::uint64_t first, std::uint64_t end) -> distrib::StreamRange {
  return {"events", first, end, {first, 1}, {end, 1}};
}
auto proposed(std::uint64_t first, std::uint64_t end) -> distrib::StreamProposal {
  return distrib::ProposedRange{range_of_shard(first, end), first != 0};
}
auto log_with_records(std::uint64_t records, StreamLogId id = {}) -> SharedStreamLog {
  StreamLog log{1, {0}};
  log.set_id(id);
  if (records != 0) log.append(range_of_shard(0, records));
  return std::make_shared<const StreamLog>(log);
}

/// Actions as text, and the last file.
struct ShardStory {
  auto tell() -> std::string {
    std::string text;
    for (const distrib::StreamShardAction& action : std::exchange(out, {})) {
      if (!text.empty()) text += ", ";
      if (const auto* const write = std::get_if<distrib::stream_action::WriteFile>(&action)) {
        file = write->file;
        text += "write " + std::to_string(file.log == nullptr ? 0 : file.log->items());
      } else if (const auto* const hello = std::get_if<distrib::stream_action::SendHello>(&action)) {
        text += hello->peer ? "hello to " + std::to_string(*hello->peer) : "hello to all";
      } else if (const auto* const sealed = std::get_if<distrib::stream_action::SendSealed>(&action)) {
        text += "sealed " + std::to_string(sealed->id.number) + " to " + std::to_string(sealed->peer);
      } else if (const auto* const log = std::get_if<distrib::stream_action::SendLog>(&action)) {
        text += "log to " + std::to_string(log->peer);
      } else if (std::holds_alternative<distrib::stream_action::DropStored>(action)) {
        text += "drop stored";
      } else if (std::holds_alternative<distrib::stream_action::DropOthers>(action)) {
        text += "drop others";
      } else if (std::holds_alternative<distrib::stream_action::Moved>(action)) {
        text += "moved";
      } else {
        const distrib::Error& error = std::get<distrib::stream_action::Fail>(action).error;
        code = error.code;
        text += "fail " + error.where;
      }
    }
    return text;
  }

  distrib::StreamShardActions out;
  distrib::StreamFile file;
  std::error_code code;
};

/// Shard 0 in life 5, with a log of no records.
struct OpenKeeper : ShardStory {
  OpenKeeper() {
    core.start(std::nullopt, {}, {5, 50}, out);
    core.found(core.id(), log_with_records(0), out);
    (void)tell();
    core.written(out);
    (void)tell();
    core.written(out);  // the horizon
    (void)tell();
  }
  StreamShardCore core{{true, 4, true}};
};

}  // namespace

TEST_CASE("shard 0 takes nothing before it was given the log of its life") {
  ShardStory story;
  StreamShardCore core{{true, 4, true}};
  core.start(std::nullopt, {}, {5, 50}, story.out);
  CHECK(story.tell().empty());
  CHECK(core.id() == StreamLogId{5, 50});
  CHECK_FALSE(core.is_open());
  core.append(1, {proposed(0, 5)}, story.out);
  CHECK(story.tell().empty());
  CHECK_FALSE(core.accept(1, core.id(), nullptr, story.out));
  CHECK(story.tell() == "hello to 1");
  core.found({4, 50}, log_with_records(3), story.out);
  CHECK(story.tell().empty());
  core.found(core.id(), log_with_records(3, {2, 2}), story.out);
  CHECK(story.tell() == "write 2");
  CHECK(story.file.log->id() == core.id());
  CHECK_FALSE(core.may_tell(0));
  core.written(story.out);
  CHECK(story.tell() == "drop others, hello to all, moved, log to 1, write 2");
  CHECK(core.is_open());
  CHECK(core.told()->records() == 3);
}

TEST_CASE("a start is a later life than the one that was promised") {
  ShardStory story;
  StreamShardCore core{{true, 4, true}};
  core.start(distrib::StreamFile{{9, 1}, log_with_records(3, {9, 1}), true}, {}, {5, 50}, story.out);
  CHECK(core.id() == StreamLogId{10, 50});
  CHECK_FALSE(core.hello().is_open);
  CHECK(core.hello().is_given);
  CHECK(core.hello().log->records() == 3);
  core.born(10, story.out);
  CHECK(story.tell().empty());
  core.born(12, story.out);
  CHECK(story.tell() == "drop stored, hello to all");
  CHECK(core.id() == StreamLogId{12, 50});
}

TEST_CASE("an item is told when it is durable, and items that come meanwhile go into one file") {
  OpenKeeper keeper;
  keeper.core.append(1, {proposed(0, 5)}, keeper.out);
  CHECK(keeper.tell() == "write 2");
  keeper.core.append(2, {proposed(5, 7), proposed(7, 9)}, keeper.out);
  CHECK(keeper.tell().empty());
  CHECK(keeper.core.told()->records() == 0);
  keeper.core.want(3, 5, keeper.out);
  CHECK(keeper.tell().empty());
  keeper.core.written(keeper.out);
  CHECK(keeper.tell() == "log to 3, moved, write 4");
  CHECK(keeper.core.told()->records() == 5);
  keeper.core.written(keeper.out);
  CHECK(keeper.core.told()->records() == 9);
}

TEST_CASE("a proposal that does not continue the log is dropped, and its author gets the log") {
  OpenKeeper keeper;
  keeper.core.append(1, {proposed(0, 5)}, keeper.out);
  keeper.core.written(keeper.out);
  (void)keeper.tell();
  distrib::ProposedRange other{range_of_shard(5, 7), true};
  other.range.before = {5, 2};
  const distrib::StreamProposal wrong[] = {
      proposed(0, 5),  // twice
      proposed(6, 8),  // records are left out
      proposed(4, 8),  // a record again
      other,  // of a source with other records
      distrib::ProposedRange{range_of_shard(5, 5), true},
      distrib::StreamRanks{keeper.core.told()->horizon(), {0, 1}},
  };
  for (const distrib::StreamProposal& proposal : wrong) {
    keeper.core.append(1, {proposal}, keeper.out);
    CHECK(keeper.tell() == "log to 1");
  }
  keeper.core.append(1, {distrib::ProposedEnd{4}}, keeper.out);
  CHECK(keeper.tell().empty());
}

TEST_CASE("ranks are taken for steps beyond the horizon, and nothing behind the end") {
  OpenKeeper keeper;
  const std::uint64_t horizon = keeper.core.told()->horizon();
  CHECK(horizon == 5);
  CHECK(keeper.core.may_tell(4));
  CHECK_FALSE(keeper.core.may_tell(5));
  CHECK(keeper.core.may_count(5, 1));
  CHECK_FALSE(keeper.core.may_count(6, 1));
  CHECK_FALSE(keeper.core.may_count(5, 2));
  keeper.core.append(1, {distrib::StreamRanks{6, {0, 1}}, distrib::ProposedEnd{0}, proposed(0, 5)}, keeper.out);
  CHECK(keeper.tell() == "write 3");
  keeper.core.written(keeper.out);
  CHECK(keeper.tell() == "moved");
  CHECK(keeper.core.told()->is_closed());
  keeper.core.want(3, 100, keeper.out);
  CHECK(keeper.tell() == "log to 3");
}

TEST_CASE("the horizon goes ahead of the newest step, and what no Restore needs is let go") {
  OpenKeeper keeper;
  keeper.core.append(1, {proposed(0, 9)}, keeper.out);
  keeper.core.written(keeper.out);
  (void)keeper.tell();
  keeper.core.completed(2, keeper.out);
  CHECK(keeper.tell().empty());
  keeper.core.completed(3, keeper.out);
  CHECK(keeper.tell() == "write 2");
  keeper.core.written(keeper.out);
  CHECK(keeper.core.told()->horizon() == 8);
  (void)keeper.tell();
  keeper.core.keep_from(2, keeper.out);
  CHECK(keeper.tell() == "write 2");
  keeper.core.written(keeper.out);
  CHECK(keeper.core.told()->kept_step() == 2);
}

TEST_CASE("records that are gone before they were logged end the job") {
  OpenKeeper keeper;
  keeper.core.append(1, {proposed(0, 5)}, keeper.out);
  keeper.core.written(keeper.out);
  (void)keeper.tell();
  keeper.core.expired("events", 5, keeper.out);
  keeper.core.expired("other", 5, keeper.out);
  CHECK(keeper.tell().empty());
  keeper.core.expired("events", 6, keeper.out);
  CHECK(keeper.tell() == "fail events: the log has its records before 5, and it now begins with record 6");
  CHECK(keeper.code == distrib::stream_errc::records_expired);
}

TEST_CASE("another shard answers to a seal when its promise is durable") {
  ShardStory story;
  StreamShardCore core{{false, 4, true}};
  core.start(std::nullopt, {}, {}, story.out);
  CHECK(story.tell().empty());
  core.seal(1, {5, 50}, story.out);
  CHECK(story.tell() == "drop stored, write 0");
  core.seal(2, {5, 50}, story.out);
  core.seal(3, {5, 50}, story.out);
  core.lost(3);
  core.seal(4, {4, 50}, story.out);
  CHECK(story.tell() == "hello to 4");
  core.written(story.out);
  CHECK(story.tell() == "sealed 5 to 1, sealed 5 to 2, moved");
  core.seal(1, {5, 50}, story.out);
  CHECK(story.tell() == "sealed 5 to 1");
  CHECK_FALSE(core.is_open());
}

TEST_CASE("a promise that is overtaken while it is written is not answered to") {
  ShardStory story;
  StreamShardCore core{{false, 4, true}};
  core.start(std::nullopt, {}, {}, story.out);
  core.seal(1, {5, 50}, story.out);
  (void)story.tell();
  core.seal(2, {6, 60}, story.out);
  CHECK(story.tell() == "drop stored");
  core.written(story.out);
  CHECK(story.tell() == "write 0");
  core.written(story.out);
  CHECK(story.tell() == "sealed 6 to 1, sealed 6 to 2, moved");
}

TEST_CASE("another shard counts what rests on items that its own copy has") {
  ShardStory story;
  StreamShardCore core{{false, 4, true}};
  core.start(std::nullopt, {}, {}, story.out);
  core.seal(1, {5, 50}, story.out);
  core.written(story.out);
  (void)story.tell();
  auto log = std::make_shared<StreamLog>(*log_with_records(4, {5, 50}));
  log->raise_horizon(3);
  CHECK_FALSE(core.accept(1, {4, 50}, log_with_records(9, {4, 50}), story.out));
  CHECK(story.tell() == "hello to 1");
  CHECK(core.accept(1, {5, 50}, log, story.out));
  CHECK(story.tell() == "drop others, write 2, hello to all");
  CHECK(core.is_open());
  CHECK(core.may_tell(100));
  CHECK_FALSE(core.may_count(1, 2));
  core.written(story.out);
  CHECK(story.tell() == "moved");
  CHECK(core.may_count(1, 2));
  CHECK_FALSE(core.may_count(4, 2));
  CHECK_FALSE(core.may_count(1, 3));
  CHECK(core.agrees(1, log->label_of(1)));
  CHECK_FALSE(core.agrees(1, distrib::StreamLabel{2, {1, 1}}));
  CHECK(core.accept(1, {5, 50}, log, story.out));
  CHECK(core.accept(1, {5, 50}, nullptr, story.out));
  CHECK(story.tell().empty());
}

TEST_CASE("a copy of a life before counts for nothing") {
  ShardStory story;
  StreamShardCore core{{false, 4, true}};
  auto old = std::make_shared<StreamLog>(*log_with_records(4, {5, 50}));
  old->raise_horizon(9);
  core.start(distrib::StreamFile{{5, 50}, old, true}, {}, {}, story.out);
  CHECK(core.may_count(1, 2));
  core.seal(1, {6, 60}, story.out);
  core.written(story.out);
  CHECK_FALSE(core.may_count(1, 2));
  (void)story.tell();
  CHECK(core.accept(1, {6, 60}, log_with_records(2, {6, 60}), story.out));
  CHECK(story.tell() == "drop others, write 2, hello to all");
  CHECK(core.is_open());
  CHECK_FALSE(core.may_count(1, 2));  // the durable copy is still the old one
}

TEST_CASE("a shard that starts goes on with its file, or with the longest copy in its cuts") {
  ShardStory story;
  StreamShardCore core{{false, 4, true}};
  core.start(distrib::StreamFile{{5, 50}, log_with_records(4, {5, 50}), true}, {}, {}, story.out);
  CHECK(core.is_open());
  CHECK(story.tell().empty());
  StreamShardCore behind{{false, 4, true}};
  behind.start(distrib::StreamFile{{6, 60}, log_with_records(4, {5, 50}), true}, {}, {}, story.out);
  CHECK_FALSE(behind.is_open());
  StreamShardCore lost{{false, 4, true}};
  const SharedStreamLog copies[] = {nullptr, log_with_records(4, {5, 50}), log_with_records(0, {5, 50})};
  lost.start(std::nullopt, copies, {}, story.out);
  CHECK(story.tell() == "write 2");
  CHECK_FALSE(story.file.is_given);
  CHECK(story.file.log->records() == 4);
  CHECK_FALSE(lost.is_open());
}
