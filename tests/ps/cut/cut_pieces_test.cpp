// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/cut_pieces.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

using distrib::Cut;
using distrib::CutAssembly;
using distrib::CutPieces;
using distrib::Job;
using distrib::ShardLayout;
using distrib::StateReply;

namespace {

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

auto tables_job() -> Job { return cuts::with_tables(cuts::make_job(2, 2)); }

auto assembly(const Job& job, std::uint64_t most_bytes = any_size) -> CutAssembly {
  return {ShardLayout{job, 0}, cuts::updaters, {}, most_bytes};
}

auto size_of(const distrib::SharedBuffer& block) -> std::size_t { return block == nullptr ? 0 : block->size(); }

auto size_of(const Cut& cut) -> std::uint64_t {
  std::uint64_t size = size_of(cut.values);
  for (const auto& slot : cut.slots) size += size_of(slot);
  for (const auto& table : cut.tables) size += size_of(table.keys) + size_of(table.uses) + size_of(table.rows);
  return size;
}

auto same(const distrib::SharedBuffer& x, const distrib::SharedBuffer& y) -> bool {
  return (x == nullptr) == (y == nullptr) && (x == nullptr || cuts::same_bytes(x, y));
}

}  // namespace

TEST_CASE("CutPieces: a cut is put together again from pieces of any size", "[ps]") {
  const Job job = tables_job();
  Cut cut = cuts::make_cuts(job, 41).front();
  const bool is_initial = GENERATE(false, true);
  if (is_initial) cut.tables.back() = {};
  const std::size_t most_bytes = GENERATE(1U, 7U, 64U, 1U << 20);
  const CutPieces pieces{cut};
  CutAssembly whole = assembly(job, size_of(cut));
  std::uint64_t before = 0;
  while (!whole.whole()) {
    const StateReply piece = pieces.piece(whole.bytes(), most_bytes);
    CHECK(piece.step == 41);
    CHECK(piece.sizes.empty() == (whole.bytes() != 0));
    CHECK(size_of(piece.body) <= most_bytes);
    REQUIRE(whole.take(piece));
    REQUIRE(whole.bytes() > before);
    before = whole.bytes();
  }
  CHECK(whole.bytes() == size_of(cut));
  CHECK(pieces.piece(whole.bytes(), most_bytes).body == nullptr);
  const Cut again = std::move(whole).finish();
  CHECK(again.step == 41);
  CHECK(cuts::same_bytes(again.values, cut.values));
  REQUIRE(again.slots.size() == cut.slots.size());
  CHECK(cuts::same_bytes(again.slots.front(), cut.slots.front()));
  REQUIRE(again.tables.size() == cut.tables.size());
  for (std::size_t i = 0; i < cut.tables.size(); ++i) {
    CHECK(same(again.tables[i].keys, cut.tables[i].keys));
    CHECK(same(again.tables[i].uses, cut.tables[i].uses));
    CHECK(same(again.tables[i].rows, cut.tables[i].rows));
  }
}

TEST_CASE("CutAssembly: a message that is not a cut of the shard is refused before memory is allocated", "[ps]") {
  const Job job = tables_job();
  const Cut cut = cuts::make_cuts(job, 41).front();
  const CutPieces pieces{cut};
  const StateReply first = pieces.piece(0, 16);
  const auto refuses = [&](auto change) {
    StateReply piece = first;
    change(piece);
    return !assembly(job).take(piece);
  };
  CHECK_FALSE(refuses([](StateReply&) {}));
  CHECK(refuses([](StateReply& piece) { piece.step = 0; }));
  CHECK(refuses([](StateReply& piece) { piece.sizes.clear(); }));
  CHECK(refuses([](StateReply& piece) { piece.sizes.pop_back(); }));
  CHECK(refuses([](StateReply& piece) { piece.sizes.push_back(0); }));
  CHECK(refuses([](StateReply& piece) { ++piece.sizes[0]; }));
  CHECK(refuses([](StateReply& piece) { piece.sizes[1] *= 2; }));
  CHECK(refuses([](StateReply& piece) { piece.sizes.back() = any_size; }));
  CHECK(refuses([](StateReply& piece) { piece.body = nullptr; }));
  CHECK(refuses([](StateReply& piece) { piece.body = std::make_shared<distrib::AlignedBuffer>(4096); }));
  CHECK_FALSE(assembly(job, size_of(cut) - 1).take(first));
  CHECK(assembly(job, size_of(cut)).take(first));

  CutAssembly begun = assembly(job);
  REQUIRE(begun.take(first));
  StateReply other = pieces.piece(16, 16);
  other.step = 42;
  CHECK_FALSE(begun.take(other));
  CHECK(begun.take(pieces.piece(16, 16)));
}
