// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_file.hpp"
#include "memory_file.hpp"
#include "targets.hpp"

#include <distrib/record/frame.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace fuzz {

namespace {

using distrib::Compression;

constexpr std::size_t most_inflated = 1 << 16;  // most bytes that the input may inflate to here

struct Inflated {
  Bytes bytes;
  std::error_code code;
  bool complete = false;
};

/// Returns what `packed` inflates to when it arrives in pieces of `piece` bytes.
auto inflated(ByteView packed, Compression compression, std::size_t piece) -> Inflated {
  distrib::Inflater inflater{compression};
  Inflated result;
  std::array<std::byte, 997> room;
  while (result.bytes.size() < most_inflated && !result.code) {
    ByteView in = packed.first(std::min(piece, packed.size()));
    const std::size_t offered = in.size();
    const std::size_t written = inflater.inflate(in, room, result.code);
    expect(written <= room.size(), "no more is written than fits");
    result.bytes.insert(result.bytes.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(written));
    packed = packed.subspan(offered - in.size());
    if (written < room.size() && packed.empty()) break;
    expect(written > 0 || in.size() < offered || result.code, "there is progress");
  }
  result.complete = inflater.complete();
  return result;
}

auto deflated(ByteView plain, Compression compression) -> Bytes {
  distrib::Deflater deflater{compression, distrib::DeflateOptions{.level = 1}};
  Bytes packed(plain.size() + 1000);
  packed.resize(deflater.deflate(plain, packed, distrib::DeflateOptions::Flush::finish));
  return packed;
}

/// Returns a gzip file as RecordWriter writes it, with one member for every few records of `script`.
auto with_members(ByteView script) -> Bytes {
  const MemoryFile memory{{}};
  distrib::RecordWriter writer{memory.path(), {.compression = Compression::gzip, .member_bytes = 64}};
  for (; !script.empty(); script = script.subspan(std::min<std::size_t>(script.size(), 20)))
    writer.append(script.first(std::min<std::size_t>(script.size(), 20)));
  writer.close();
  const distrib::MappedFile file{memory.path()};
  return {file.bytes().begin(), file.bytes().end()};
}

void walk_members(ByteView packed) {
  distrib::GzipMembers members{packed};
  std::uint64_t behind = 0;
  while (const auto member = members.try_next()) {
    expect(member->offset == behind && member->size > 0, "members follow each other");
    behind += member->size;
    expect(behind <= packed.size(), "members lie in the file");
  }
}

void look_at_packed(ByteView packed) {
  walk_members(packed);
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const Inflated whole = inflated(packed, compression, packed.size() + 1);
    const Inflated pieces = inflated(packed, compression, 7);
    if (whole.bytes.size() >= most_inflated) continue;
    expect(whole.bytes == pieces.bytes && whole.complete == pieces.complete, "pieces inflate to the same bytes");
    expect(whole.code == pieces.code, "pieces fail in the same way");
  }
  const MemoryFile memory{packed};
  for (const auto action : {distrib::DamagePolicy::OnDamage::stop, distrib::DamagePolicy::OnDamage::skip,
                            distrib::DamagePolicy::OnDamage::salvage}) {
    std::error_code ec;
    distrib::RecordReader reader{
        memory.path(), {.damage = {action, 1'000'000, 1U << 30}, .max_record_bytes = most_inflated}, ec};
    std::uint64_t behind = 0;
    for (std::size_t i = 0; i < 10'000; ++i) {
      const auto record = reader.try_next();
      if (!record) break;
      expect(record->offset >= behind, "records come in order");
      behind = record->offset + distrib::record_frame_bytes + record->bytes.size();
    }
  }
}

}  // namespace

void inflate(ByteView input) {
  if (input.size() < 4) return look_at_packed(input);
  const auto how = static_cast<unsigned>(input[0]);
  if ((how & 1) == 0) return look_at_packed(input.subspan(1));
  // An undamaged file of one, two or many members, in which one bit is flipped, or none.
  const MadeFile script{input.subspan(3)};
  const Compression compression = (how & 2) != 0 ? Compression::gzip : Compression::zlib;
  Bytes packed = (how & 32) != 0 ? with_members(input.subspan(3)) : deflated(script.bytes(), compression);
  if ((how & 4) != 0) {
    const Bytes again = packed;
    packed.insert(packed.end(), again.begin(), again.end());
  }
  if (packed.empty()) return look_at_packed(packed);
  const std::size_t where = static_cast<std::size_t>(input[1]) * 256 + static_cast<std::size_t>(input[2]);
  if ((how & 8) != 0) packed[where % packed.size()] ^= static_cast<std::byte>(1U << (how >> 5));
  if ((how & 16) != 0) packed.resize(where % packed.size());
  look_at_packed(packed);
}

}  // namespace fuzz
