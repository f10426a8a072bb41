// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_frames.hpp"
#include "targets.hpp"

#include <distrib/rpc/frame_reader.hpp>
#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace fuzz {

namespace {

using distrib::FrameHeader;
using distrib::FrameLimits;
using distrib::rpc_errc;
using distrib::sim::Dice;

struct Received {
  FrameHeader header;
  Bytes head;
  Bytes body;
  std::uint32_t body_checksum = 0;
  auto operator==(const Received&) const -> bool = default;
};

struct FramesRead {
  std::vector<Received> frames;
  std::error_code error;
  auto operator==(const FramesRead&) const -> bool = default;
};

/// Limits until the first frame has arrived, and after it: as an end of a connection sets them.
struct Limits {
  FrameLimits first;
  FrameLimits then;
};

/// A slow and obvious reader, which has the whole stream. Sets `cut_head_is_bad` if the stream ends in a frame whose
/// head is complete and damaged; whether a reader knows that already depends on the frame.
auto judge(const Bytes& bytes, const Limits& limits, bool& cut_head_is_bad) -> FramesRead {
  FramesRead read;
  std::size_t at = 0;
  const auto left = [&] { return bytes.size() - at; };
  const auto u32 = [&](std::size_t where) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint32_t>(bytes[where + i]);
    return value;
  };
  const auto part = [&](std::size_t where, std::size_t size) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(where);
    return Bytes{from, from + static_cast<std::ptrdiff_t>(size)};
  };
  const auto fail = [&](rpc_errc code) {
    read.error = code;
    return read;
  };
  while (left() >= 32) {
    const FrameLimits& now = read.frames.empty() ? limits.first : limits.then;
    const auto kind = static_cast<unsigned>(bytes[at + 5]);
    if (distrib::as_text(part(at, 4)) != "DSTB") return fail(rpc_errc::not_ours);
    if (u32(at + 28) != distrib::crc32c(part(at, 28))) return fail(rpc_errc::corrupt);
    if (bytes[at + 4] != std::byte{1}) return fail(rpc_errc::unsupported_version);
    if (kind < 1 || kind > 11) return fail(rpc_errc::protocol);
    const std::uint32_t head = u32(at + 12);
    const std::uint32_t body = u32(at + 24);
    if (head > now.head_bytes || body > now.body_bytes) return fail(rpc_errc::too_large);
    Received frame;
    frame.header.kind = static_cast<distrib::FrameKind>(kind);
    frame.header.flags = static_cast<std::uint16_t>(u32(at + 6) & 0xffff);
    frame.header.method = u32(at + 8);
    frame.header.head_bytes = head;
    frame.header.call = u32(at + 16) | std::uint64_t{u32(at + 20)} << 32;
    frame.header.body_bytes = body;
    at += 32;
    const std::size_t head_there = head == 0 ? 0 : head + std::size_t{4};
    const std::size_t body_there = body == 0 ? 0 : body + std::size_t{4};
    const bool head_is_bad = head != 0 && left() >= head_there && u32(at + head) != distrib::crc32c(part(at, head));
    if (left() < head_there + body_there) {
      cut_head_is_bad = head_is_bad;
      return read;
    }
    if (head_is_bad) return fail(rpc_errc::corrupt);
    frame.head = part(at, head);
    at += head_there;
    frame.body = part(at, body);
    if (body != 0) {
      frame.body_checksum = distrib::crc32c(frame.body);
      if (u32(at + body) != frame.body_checksum) return fail(rpc_errc::corrupt);
    }
    at += body_there;
    read.frames.push_back(std::move(frame));
  }
  return read;
}

/// How a stream is passed to a reader.
struct Handing {
  std::size_t piece;  // most bytes of a read
  bool random = false;  // reads may have fewer bytes
  std::size_t lends = distrib::least_read_bytes;  // bytes of the lent memory
  bool pauses = false;  // some frames are not taken at once, as when too much is owed
  bool in_chunks = false;  // most large bodies arrive in chunks
};

/// Adds a part of a frame to the parts before it. A part of a body has a multiple of 64 bytes, except the last.
void add(std::vector<Received>& frames, const distrib::Frame& frame) {
  const ByteView body = frame.body.bytes();
  if (frame.part == distrib::FramePart::whole || frame.part == distrib::FramePart::begin) {
    frames.push_back({*frame.header, {frame.head.begin(), frame.head.end()}, {}, 0});
    expect(frame.part == distrib::FramePart::whole || body.empty(), "the body follows in chunks");
  }
  Received& whole = frames.back();
  expect(whole.header == *frame.header, "all parts belong to one frame");
  expect(frame.part != distrib::FramePart::chunk || whole.body.size() % 64 == 0, "chunks are multiples of 64 bytes");
  whole.body.insert(whole.body.end(), body.begin(), body.end());
  if (frame.is_last()) whole.body_checksum = frame.body_checksum;
}

auto feed(const Bytes& bytes, const Limits& limits, const Handing& cuts, std::uint64_t seed) -> FramesRead {
  Dice dice{seed};
  const auto wants_chunks = [&](const FrameHeader& header) { return cuts.in_chunks && header.method % 8 != 0; };
  distrib::FrameReader reader{limits.first};
  bool is_complete = true;
  FramesRead read;
  std::vector<distrib::FrameBody> owned;  // these must not change
  std::vector<std::size_t> owned_of;
  const auto take_one = [&] {
    const bool had_rest = reader.has_rest();
    distrib::Frame frame;
    if (!reader.next(frame, wants_chunks)) return false;
    expect(had_rest, "has_rest() is true if a frame can be taken");
    if (frame.body.owner() != nullptr) {
      owned.push_back(frame.body);
      owned_of.push_back(read.frames.size());
    }
    add(read.frames, frame);
    is_complete = frame.is_last();
    reader.set_limits(limits.then);
    return true;
  };
  std::size_t at = 0;
  std::unique_ptr<std::byte[]> memory;
  while (at < bytes.size() && !reader.error()) {
    // at another address than before
    if (memory == nullptr || cuts.piece > 100) memory.reset(new std::byte[cuts.lends]);
    const std::span lent{memory.get(), cuts.lends};
    const distrib::ReadSpace space = reader.read_space(lent);
    const std::size_t room = space.front.size() + space.back.size();
    expect(room > 0, "there is room to read into");
    const bool direct = space.front.data() < lent.data() || space.front.data() >= lent.data() + lent.size();
    const FrameLimits& now = read.frames.empty() ? limits.first : limits.then;
    if (direct) {
      const std::size_t most = std::max(std::max(limits.first.head_bytes, now.head_bytes) + std::size_t{4},
                                        std::size_t{std::max(limits.first.body_bytes, now.body_bytes)});
      expect(space.front.size() <= most, "no more memory is used than the limits allow");
    }
    const std::size_t piece = cuts.random ? dice.between(1, cuts.piece) : cuts.piece;
    const std::size_t count = std::min({piece, room, bytes.size() - at});
    const std::size_t in_front = std::min(count, space.front.size());
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    std::copy_n(from, in_front, space.front.begin());
    std::copy_n(from + static_cast<std::ptrdiff_t>(in_front), count - in_front, space.back.begin());
    reader.bytes_read(count);
    at += count;
    if (cuts.pauses)
      for (auto frames = dice.below(3); frames > 0 && take_one();) --frames;
    if (cuts.pauses) reader.keep();
    const std::size_t before = direct ? 0 : static_cast<std::size_t>(space.front.data() - lent.data());
    const std::size_t used = std::min(cuts.lends, before + count);
    if (cuts.pauses) std::memset(lent.data(), 0xEE, used);
    while (take_one()) {
    }
    reader.keep();
    std::memset(lent.data(), 0xEE, used);
  }
  while (take_one()) {
  }
  read.error = reader.error();
  if (!is_complete) read.frames.pop_back();
  for (std::size_t i = 0; i < owned.size(); ++i)
    expect(std::ranges::equal(owned[i].bytes(), read.frames[owned_of[i]].body), "a body that is owned stays as it is");
  return read;
}

void look_at_stream(const Bytes& bytes, const Limits& limits, std::uint64_t seed) {
  const FramesRead whole = feed(bytes, limits, {bytes.size() + 1}, seed);
  bool cut_head_is_bad = false;
  FramesRead judged = judge(bytes, limits, cut_head_is_bad);
  if (cut_head_is_bad && whole.error == rpc_errc::corrupt) judged.error = rpc_errc::corrupt;
  expect(whole == judged, "the frames equal the frames of the slow reader");
  const std::array cuts{Handing{bytes.size() > 4096 ? std::size_t{61} : std::size_t{1}},
                        Handing{.piece = 40, .random = true},
                        Handing{.piece = 9000, .random = true, .lends = std::size_t{256} << 10},
                        Handing{.piece = 3000, .random = true, .pauses = true},
                        Handing{.piece = bytes.size() + 1, .pauses = true},
                        Handing{.piece = bytes.size() + 1, .in_chunks = true},
                        Handing{.piece = 3000, .random = true, .pauses = true, .in_chunks = true}};
  for (const Handing& cut : cuts)
    expect(feed(bytes, limits, cut, seed) == whole, "it does not matter how a stream is cut");
}

auto limits_of(Script& script) -> FrameLimits {
  constexpr std::array<std::uint32_t, 9> some{0, 1, 100, 4096, 4097, 16384, 16385, 20000, 70000};
  const std::uint32_t head = some[script.below(some.size())];
  return {head, some[script.below(some.size())]};
}

}  // namespace

void rpc_frame(ByteView input) {
  Script script{input};
  Limits limits;
  limits.first = limits_of(script);
  limits.then = limits_of(script);
  const std::uint64_t seed = script.number(1);
  if ((seed & 7) == 0) {
    const ByteView raw = script.rest();
    return look_at_stream({raw.begin(), raw.end()}, limits, seed);
  }
  look_at_stream(made_stream(script), limits, seed);
}

}  // namespace fuzz
