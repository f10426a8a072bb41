// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_log.hpp>

#include "support/catch.hpp"

#include <distrib/core/protowire.hpp>
#include <distrib/stream_log/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using distrib::StreamLog;
using distrib::StreamRange;
using distrib::StreamRanks;

auto range_of_log(const char* source, std::uint64_t first, std::uint64_t end) -> StreamRange {
  return {source, first, end, {first, 1}, {end, 1}};
}

// Batches of 3; ranks 0 and 1, from step 3 on 0, 1 and 2.
auto some_log() -> StreamLog {
  StreamLog log{3, {0, 1}};
  log.append(range_of_log("a", 0, 5));
  log.append(range_of_log("b", 0, 4));
  log.append(StreamRanks{3, {0, 1, 2}});
  log.append(range_of_log("a", 5, 20));
  return log;
}

auto text_of_batch(const StreamLog& log, std::uint64_t batch) -> std::string {
  std::string text;
  for (const distrib::StreamPiece& piece : log.pieces_of(batch))
    text += piece.range->source + std::to_string(piece.first) + "-" + std::to_string(piece.end) + " ";
  return text;
}

}  // namespace

TEST_CASE("records of a stream log are numbered in the order of its items") {
  const StreamLog log = some_log();
  CHECK(log.records() == 24);
  CHECK(log.items() == 5);
  CHECK(text_of_batch(log, 0) == "a0-3 ");
  CHECK(text_of_batch(log, 1) == "a3-5 b0-1 ");
  CHECK(text_of_batch(log, 2) == "b1-4 ");
  CHECK(text_of_batch(log, 3) == "a5-8 ");
  CHECK(text_of_batch(log, 7) == "a17-20 ");
  CHECK(text_of_batch(log, 8).empty());
  CHECK(text_of_batch(log, UINT64_MAX).empty());
}

TEST_CASE("ranks of a step take their batches behind those of the step before") {
  const StreamLog log = some_log();
  CHECK(log.batch_of(1, 0) == 0);
  CHECK(log.batch_of(2, 1) == 3);
  CHECK(log.batch_of(3, 0) == 4);
  CHECK(log.batch_of(4, 2) == 9);
  CHECK(log.records_for(0) == 0);
  CHECK(log.records_for(2) == 12);
  CHECK(log.records_for(3) == 21);
  CHECK(log.covers(3));
  CHECK_FALSE(log.covers(4));
  CHECK_FALSE(log.covers(UINT64_MAX));
  CHECK(log.is_rank_of(3, 2));
  CHECK_FALSE(log.is_rank_of(2, 2));
  CHECK(log.is_rank_after(0, 2));
  CHECK_FALSE(log.is_rank_after(5, 3));
}

TEST_CASE("of two lists of ranks for one step the later one counts, and batches behind it are counted again") {
  StreamLog log = some_log();
  log.append(StreamRanks{5, {7}});
  log.append(StreamRanks{3, {4}});
  CHECK(log.batch_of(3, 4) == 4);
  CHECK(log.batch_of(5, 7) == 6);
  CHECK(log.batch_of(6, 7) == 7);
}

TEST_CASE("a label names the items that the steps up to one rest on") {
  StreamLog log = some_log();
  CHECK(log.label_of(1).items == 3);
  CHECK(log.label_of(2).items == 5);
  CHECK(log.label_of(3).items == 5);
  const distrib::StreamLabel label = log.label_of(1);
  log.append(range_of_log("c", 0, 9));
  CHECK(log.label_of(1) == label);
  log.raise_horizon(3);
  CHECK(log.agrees(1, label));
  CHECK(log.agrees(1, std::nullopt));
  StreamLog other{3, {0, 1}};
  other.append(range_of_log("b", 0, 4));
  other.append(range_of_log("a", 0, 5));
  other.raise_horizon(3);
  CHECK_FALSE(other.agrees(1, label));
  CHECK_FALSE(other.agrees(3, log.label_of(3)));
}

TEST_CASE("a log with the items of a label does not agree while ranks of an earlier step are new, or may come") {
  StreamLog log = some_log();
  const distrib::StreamLabel label = log.label_of(5);
  StreamLog other = log;
  log.raise_horizon(8);
  CHECK(log.agrees(5, label));
  other.raise_horizon(4);
  CHECK_FALSE(other.agrees(5, label));
  other.append(StreamRanks{5, {7}});
  other.raise_horizon(8);
  CHECK(other.label_with(label.items) == label);
  CHECK(other.agrees(4, label));
  CHECK_FALSE(other.agrees(5, label));
}

TEST_CASE("the last step is the last one for which a closed stream log has records of all ranks") {
  StreamLog log = some_log();
  CHECK_FALSE(log.last_step());
  log.append(distrib::StreamEnd{});
  CHECK(log.is_closed());
  CHECK(log.last_step() == 3);
  StreamLog empty{3, {0}};
  empty.append(distrib::StreamEnd{});
  CHECK(empty.last_step() == 0);
  StreamLog few{3, {0, 1}};
  few.append(StreamRanks{3, {0, 1, 2}});
  few.append(range_of_log("a", 0, 14));
  few.append(distrib::StreamEnd{});
  CHECK(few.last_step() == 2);
}

TEST_CASE("a stream log lets go of what only earlier steps need, and answers as before for the others") {
  StreamLog log = some_log();
  log.raise_horizon(3);
  const StreamLog before = log;
  log.let_go(1);
  CHECK(log.kept_step() == 1);
  CHECK(log.first_item() == 2);
  CHECK(log.items() == 5);
  CHECK_FALSE(log.reaches(0));
  CHECK(log.reaches(1));
  CHECK(log.pieces_of(1).empty());
  for (std::uint64_t batch = 2; batch < 8; ++batch) CHECK(text_of_batch(log, batch) == text_of_batch(before, batch));
  for (std::uint64_t step = 1; step < 4; ++step) {
    CHECK(log.label_of(step) == before.label_of(step));
    CHECK(log.records_for(step) == before.records_for(step));
    CHECK(log.agrees(step, before.label_of(step)));
  }
  log.let_go(3);
  CHECK(log.ranks_of(3).size() == 3);
  CHECK(log.batch_of(3, 0) == 4);
  CHECK(log.label_of(3) == before.label_of(3));
  log.let_go(2);
  CHECK(log.kept_step() == 3);
  log.let_go(9);
  CHECK(log.kept_step() == 3);
  CHECK(log.end_of("b") != nullptr);
  CHECK_FALSE(log.agrees(1, before.label_with(1)));
}

TEST_CASE("a stream log is read as it was written") {
  StreamLog log = some_log();
  log.set_id({7, 8});
  log.raise_horizon(6);
  log.raise_horizon(5);
  CHECK(log.horizon() == 6);
  std::error_code code;
  CHECK(StreamLog::parse(log.to_bytes(), code) == log);
  log.let_go(1);
  log.append(distrib::StreamEnd{});
  CHECK(StreamLog::parse(log.to_bytes(), code) == log);
  CHECK_FALSE(code);
}

TEST_CASE("a stream log that contradicts itself is refused") {
  const std::vector<std::byte> bytes = some_log().to_bytes();
  std::error_code code;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto log = StreamLog::parse(distrib::ByteView{bytes}.first(size), code);
    CHECK_FALSE(log);
    CHECK(code == distrib::stream_errc::bad_log);
  }
  const auto with = [&](auto add) {
    distrib::WireWriter writer;
    writer.raw(bytes);
    add(writer);
    code.clear();
    CHECK_FALSE(StreamLog::parse(writer.view(), code));
    CHECK(code == distrib::stream_errc::bad_log);
  };
  with([](auto& writer) { writer.varint(3, 0); });  // batches of no records
  with([](auto& writer) { writer.varint(7, 5); });  // another number of records before
  with([](auto& writer) { writer.fixed64(8, 5); });  // another sum before
  with([](auto& writer) { writer.bytes(12, {}); });  // ranks of step 1 again, and none
  with([](auto& writer) {  // an end of a source that its items do not have
    writer.message(11, [](auto& source) { source.text(1, "a"); });
  });
  with([](auto& writer) {  // behind the end
    for (int times = 0; times < 2; ++times) {
      std::vector<std::byte> end;
      distrib::append_stream_item(distrib::StreamEnd{}, end);
      writer.bytes(13, end);
    }
    writer.varint(10, 1);
  });
}

TEST_CASE("a log forgets sources that are gone, if none of its items names them") {
  distrib::StreamLog log{2, {0}};
  log.append(distrib::StreamRange{"a", 0, 2, {}, {1, 1}});
  log.append(distrib::StreamRange{"b", 0, 2, {}, {1, 1}});
  log.append(distrib::StreamRange{"c", 0, 2, {}, {1, 1}});
  const auto all = [](const std::string&) { return true; };
  log.forget_sources(all);
  CHECK(log.sources() == 3);
  log.let_go(2);
  log.forget_sources([](const std::string& source) { return source != "b"; });
  CHECK(log.end_of("a") == nullptr);
  CHECK(log.end_of("b") != nullptr);
  std::error_code code;
  const auto read = distrib::StreamLog::parse(log.to_bytes(), code);
  REQUIRE(read);
  CHECK(*read == log);
  log.forget_sources(all);
  CHECK(log.sources() == 1);
}

TEST_CASE("a proposal that does not continue the log is not appended") {
  distrib::StreamLog log{2, {0}};
  const distrib::StreamProposal first = distrib::ProposedRange{{"a", 0, 3, {}, {1, 1}}, false};
  const distrib::StreamProposal more = distrib::ProposedRange{{"a", 3, 4, {1, 1}, {2, 2}}, true};
  const distrib::StreamProposal other = distrib::ProposedRange{{"a", 3, 4, {1, 2}, {2, 2}}, true};
  CHECK(may_append(log, first));
  CHECK_FALSE(may_append(log, more));
  append_proposal(log, first);
  CHECK_FALSE(may_append(log, first));
  CHECK_FALSE(may_append(log, other));
  CHECK(may_append(log, more));
  log.raise_horizon(5);
  CHECK_FALSE(may_append(log, distrib::StreamRanks{5, {0, 1}}));
  CHECK(may_append(log, distrib::StreamRanks{6, {0, 1}}));
  CHECK_FALSE(may_append(log, distrib::ProposedEnd{2}));
  CHECK(may_append(log, distrib::ProposedEnd{3}));
  append_proposal(log, distrib::ProposedEnd{3});
  CHECK(log.is_closed());
  CHECK_FALSE(may_append(log, more));
}

TEST_CASE("a range continues records, sum and offset of its source, and its version is kept") {
  distrib::StreamLog log{2, {0}};
  const distrib::StreamRange first{"t/0", 0, 4, {}, {1, 4}, "v1", 100, 107};
  CHECK(may_append(log, distrib::ProposedRange{first, false}));
  log.append(first);
  CHECK(log.end_of("t/0")->offset == 107);
  CHECK(log.end_of("t/0")->version == "v1");
  distrib::StreamRange next{"t/0", 4, 6, {1, 4}, {1, 6}, "v2", 107, 109};
  CHECK(may_append(log, distrib::ProposedRange{next, true}));
  next.first_offset = 106;
  CHECK_FALSE(may_append(log, distrib::ProposedRange{next, true}));
  next.first_offset = 107;
  log.append(next);
  std::error_code code;
  const auto read = distrib::StreamLog::parse(log.to_bytes(), code);
  REQUIRE(read);
  CHECK(*read == log);
  CHECK(read->end_of("t/0")->offset == 109);
  log.let_go(2);
  const auto shorter = distrib::StreamLog::parse(log.to_bytes(), code);
  REQUIRE(shorter);
  CHECK(shorter->end_of("t/0")->version == "v2");
}
