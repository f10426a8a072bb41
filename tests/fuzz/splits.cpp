// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_file.hpp"
#include "memory_file.hpp"
#include "targets.hpp"

#include <distrib/record/frame.hpp>
#include <distrib/record/resync.hpp>
#include <distrib/record/split_reader.hpp>
#include <distrib/record/splits.hpp>

#include <algorithm>

namespace fuzz {

namespace {

void search(ByteView file) {
  distrib::RecordFinder finder{file};
  std::uint64_t at = 0;
  while (const auto start = finder.next(at)) {
    expect(start->offset >= at && start->offset + distrib::record_frame_bytes <= file.size(),
           "a record starts in the file");
    expect(start->chain_end <= file.size(), "a chain ends in the file");
    at = start->offset + 1;
  }
}

}  // namespace

void splits(ByteView input) {
  if (input.size() < 2) return;
  const std::size_t parts = 1 + static_cast<std::size_t>(input[0]) % 64;
  const bool made = (static_cast<unsigned>(input[1]) & 1) != 0;
  const MadeFile script{input.subspan(2)};
  const ByteView file = made ? script.bytes() : input.subspan(2);
  search(file);

  const auto walk = distrib::walk_headers(file, 0);
  const MemoryFile memory{file};
  distrib::Error error;
  const auto found = distrib::split_file(
      memory.path(), parts,
      [](std::size_t count, const auto& job) {
        for (std::size_t i = count; i > 0; --i) job(i - 1);
      },
      error);
  if (error.code == distrib::record_errc::compressed) return;
  expect(static_cast<bool>(error) == walk.broken, "splits fail where the headers do");
  std::uint64_t at = 0;
  std::uint64_t records = 0;
  for (const distrib::RecordSplit& split : found.splits) {
    expect(split.records == 0 || split.first == at, "a split begins where the one before ended");
    expect(split.number == records, "a split knows how many records are before it");
    if (split.records > 0) at = split.end;
    records += split.records;
    std::error_code ec;
    distrib::SplitReader reader{memory.path(), split, ec};
    std::uint64_t read = 0;
    while (!ec && reader.try_next()) ++read;
    expect(read <= split.records, "a split has no more records than it says");
  }
  expect(at == walk.offset && records == walk.records, "splits share the records exactly once");
}

}  // namespace fuzz
