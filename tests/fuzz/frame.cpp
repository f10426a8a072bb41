// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_file.hpp"
#include "memory_file.hpp"
#include "targets.hpp"

#include <distrib/record/frame.hpp>
#include <distrib/record/record_reader.hpp>

#include <algorithm>
#include <vector>

namespace fuzz {

namespace {

using FileAccess = distrib::RecordReaderOptions::FileAccess;
using OnDamage = distrib::DamagePolicy::OnDamage;

struct RecordsRead {
  std::vector<distrib::Record> records;  // their bytes point into `file`
  std::vector<distrib::Damage> damage;
  std::error_code code;
  std::uint64_t end = 0;
};

/// Reads all of the file, and checks what every reader promises.
auto read_records(const std::string& path, ByteView file, const distrib::RecordReaderOptions& options) -> RecordsRead {
  std::error_code ec;
  distrib::RecordReader reader{path, options, ec};
  RecordsRead read;
  std::uint64_t behind = 0;
  while (const auto record = reader.try_next()) {
    expect(record->offset >= behind, "records come in order and do not overlap");
    behind = record->offset + distrib::record_frame_bytes + record->bytes.size();
    expect(behind <= file.size(), "a record lies in the file");
    const ByteView there =
        file.subspan(static_cast<std::size_t>(record->offset) + distrib::record_header_bytes, record->bytes.size());
    expect(std::ranges::equal(there, record->bytes), "a record's bytes equal the bytes in the file");
    expect(distrib::payload_matches(there, file.subspan(static_cast<std::size_t>(behind) - 4).first<4>()),
           "a record's payload is verified");
    read.records.push_back(*record);
    read.records.back().bytes = there;
  }
  read.damage = reader.damage();
  read.code = reader.error().code;
  read.end = reader.offset();
  return read;
}

auto same_records(const RecordsRead& a, const RecordsRead& b) -> bool {
  const auto equal = [](const distrib::Record& x, const distrib::Record& y) {
    return x.offset == y.offset && x.number == y.number && x.bytes.size() == y.bytes.size();
  };
  return a.code == b.code && std::ranges::equal(a.records, b.records, equal);
}

/// True if records and lost ranges together are the whole file, each byte once.
auto accounted(const RecordsRead& read, ByteView file) -> bool {
  std::uint64_t at = 0;
  auto damage = read.damage.begin();
  auto record = read.records.begin();
  while (at < file.size()) {
    if (record != read.records.end() && record->offset == at) {
      at += distrib::record_frame_bytes + record->bytes.size();
      ++record;
    } else if (damage != read.damage.end() && damage->offset == at && damage->bytes > 0) {
      at += damage->bytes;
      ++damage;
    } else {
      return false;
    }
  }
  return at == file.size() && record == read.records.end() && damage == read.damage.end();
}

void look_at_plain(ByteView file) {
  const MemoryFile memory{file};
  const std::string path = memory.path();
  const distrib::RecordReaderOptions strict{.compression = distrib::Compression::none};
  const RecordsRead mapped = read_records(path, file, strict);
  for (const auto cut : {distrib::RecordReaderOptions::TruncatedHeader::end_like_tensorflow,
                         distrib::RecordReaderOptions::TruncatedHeader::end_like_hadoop}) {
    const RecordsRead cut_short =
        read_records(path, file, {.truncated_header = cut, .compression = distrib::Compression::none});
    expect(cut_short.records.size() == mapped.records.size(), "the treatment of a cut header changes no record");
  }
  for (const OnDamage action : {OnDamage::stop, OnDamage::skip, OnDamage::salvage}) {
    distrib::RecordReaderOptions options = strict;
    options.damage = {action, 1'000'000, 1U << 30};
    const RecordsRead by_map = read_records(path, file, options);
    options.access = FileAccess::buffered;
    const RecordsRead by_buffer = read_records(path, file, options);
    expect(same_records(by_map, by_buffer), "mapped and buffered reading agree");
    expect(by_map.damage == by_buffer.damage, "mapped and buffered reading report the same damage");
    expect(by_map.records.size() >= mapped.records.size(), "continuing after damage loses no record");
    if (action == OnDamage::stop)
      expect(same_records(mapped, by_map) && by_map.damage.empty(), "OnDamage::stop stops at the first damage");
    if (action == OnDamage::salvage) expect(!by_map.code && accounted(by_map, file), "salvage accounts for every byte");
  }
}

}  // namespace

void frame(ByteView input) {
  if (input.empty()) return look_at_plain(input);
  const bool made = (static_cast<unsigned>(input[0]) & 1) != 0;
  if (made) look_at_plain(MadeFile{input.subspan(1)}.bytes());
  else look_at_plain(input.subspan(1));
}

}  // namespace fuzz
