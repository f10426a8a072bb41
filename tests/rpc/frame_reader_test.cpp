// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_reader.hpp>

#include <distrib/net/connection_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <thread>

using distrib::FrameHeader;
using distrib::FrameKind;
using distrib::FrameReader;
using distrib::rpc_errc;
using stream::Bytes;

namespace {

struct Received {
  FrameHeader header;
  std::string head;
  Bytes body;
};

/// Passes all bytes to the reader, `piece()` bytes at a time, and returns every frame.
template <class Piece>
auto feed(FrameReader& reader, const Bytes& bytes, Piece piece) -> std::vector<Received> {
  std::vector<Received> frames;
  std::size_t at = 0;
  while (at < bytes.size() && !reader.error()) {
    at += stream::give(reader, distrib::ByteView{bytes}.subspan(at), piece());
    for (distrib::Frame frame; reader.next(frame);) {
      const distrib::ByteView body = frame.body.bytes();
      frames.push_back({*frame.header, std::string{distrib::as_text(frame.head)}, {body.begin(), body.end()}});
    }
    reader.keep();
  }
  return frames;
}

const auto all_at_once = [] { return std::size_t{1} << 30; };
const auto byte_by_byte = [] { return std::size_t{1}; };

/// A stream of frames of many sizes.
struct Sample {
  Bytes bytes;
  std::vector<std::string> heads;
  std::vector<distrib::SharedBuffer> bodies;

  Sample() {
    for (const std::size_t size : {0U, 1U, 3U, 4095U, 4096U, 4097U, 5000U, 16384U, 70000U})
      add("head", stream::body(size));
    for (const std::size_t size : {0U, 1U, 100U, 16300U, 16384U, 40000U}) add(std::string(size, 'h'), nullptr);
    add(std::string(20000, 'x'), stream::body(20000));
  }
  void add(const std::string& head, distrib::SharedBuffer body) {
    const auto frame = stream::frame({FrameKind::request, 0, 1, 0, heads.size() + 1, 0}, head, body);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    heads.push_back(head);
    bodies.push_back(std::move(body));
  }
  void check(const std::vector<Received>& frames) const {
    REQUIRE(frames.size() == heads.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      CAPTURE(i);
      CHECK(frames[i].header.call == i + 1);
      CHECK(frames[i].head == heads[i]);
      const auto expected = bodies[i] == nullptr ? distrib::ByteView{} : bodies[i]->bytes();
      CHECK(std::equal(frames[i].body.begin(), frames[i].body.end(), expected.begin(), expected.end()));
    }
  }
};

auto first_error(Bytes bytes, distrib::FrameLimits limits = {}) -> std::error_code {
  FrameReader reader{limits};
  CHECK(feed(reader, bytes, all_at_once).empty());
  CHECK(reader.error());
  distrib::Frame none;
  CHECK_FALSE(reader.next(none));
  return reader.error();
}

}  // namespace

TEST_CASE("FrameReader: returns the same frames for any cuts of the stream", "[rpc]") {
  const Sample sample;
  {
    FrameReader reader;
    sample.check(feed(reader, sample.bytes, all_at_once));
  }
  {
    FrameReader reader;
    sample.check(feed(reader, sample.bytes, byte_by_byte));
  }
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random{seed};
    FrameReader reader;
    sample.check(feed(reader, sample.bytes, [&] { return std::size_t{1} + random() % (seed % 2 == 0 ? 60 : 9000); }));
  }
}

TEST_CASE(
    "FrameReader: a large body is received in its own memory, and its last piece is read together with what follows",
    "[rpc]") {
  auto bytes = stream::frame({FrameKind::request}, "h", stream::body(1 << 20));
  const auto next = stream::frame({FrameKind::ping});
  bytes.insert(bytes.end(), next.begin(), next.end());
  FrameReader reader;
  distrib::Frame frame;
  const std::size_t before = 32 + 5 + 10;  // 10 bytes of the body arrive with the head
  CHECK(stream::give(reader, distrib::ByteView{bytes}.first(before), before) == before);
  CHECK_FALSE(reader.next(frame));
  reader.keep();
  CHECK(reader.in_frame());
  CHECK_FALSE(reader.has_rest());
  std::vector<std::byte> lent(distrib::least_read_bytes);
  auto space = reader.read_space(lent);
  const std::byte* const first = space.front.data();
  for (auto at = bytes.begin() + before; space.back.empty(); space = reader.read_space(lent)) {  // piece by piece
    REQUIRE(space.front.size() == 64 << 10);
    std::copy_n(at, space.front.size(), space.front.begin());
    at += 64 << 10;
    reader.bytes_read(space.front.size());
    CHECK_FALSE(reader.next(frame));
    reader.keep();
  }
  REQUIRE(space.front.size() == (64 << 10) - 10);
  REQUIRE(space.back.data() == lent.data());
  CHECK(space.back.size() == 4 << 10);
  const std::size_t last = space.front.size() + 36;
  std::copy_n(bytes.end() - static_cast<std::ptrdiff_t>(last), space.front.size(), space.front.begin());
  std::copy(bytes.end() - 36, bytes.end(), space.back.begin());
  reader.bytes_read(last);
  REQUIRE(reader.next(frame));
  REQUIRE(frame.body.owner() != nullptr);
  CHECK(frame.body.bytes().data() + 10 == first);
  CHECK(frame.body_checksum == distrib::crc32c(frame.body.bytes()));
  REQUIRE(reader.next(frame));
  CHECK(frame.header->kind == FrameKind::ping);
  CHECK(frame.body.empty());
  CHECK_FALSE(reader.in_frame());
}

TEST_CASE("FrameReader: how much is read beyond a frame depends on the size of its body", "[rpc]") {
  static constexpr std::size_t all = 256 << 10;
  const auto [body_bytes, behind] =
      GENERATE(std::pair<std::size_t, std::size_t>{4 << 10, 64 << 10}, std::pair{(std::size_t{4} << 10) + 1, all},
               std::pair{(std::size_t{64} << 10) - 1, all}, std::pair{std::size_t{64} << 10, std::size_t{4} << 10});
  const auto bytes = stream::frame({FrameKind::request}, "h", stream::body(body_bytes));
  const auto ping = stream::frame({FrameKind::ping});
  FrameReader reader;
  distrib::Frame frame;
  std::vector<std::byte> lent(all);
  for (std::size_t at = 0; at < bytes.size();) {
    at += stream::give(reader, distrib::ByteView{bytes}.subspan(at), bytes.size());
    if (at < bytes.size()) CHECK_FALSE(reader.next(frame));
    if (at < bytes.size()) reader.keep();
  }
  REQUIRE(reader.next(frame));
  reader.keep();
  CHECK(reader.read_space(lent).front.size() == behind);
  stream::give(reader, distrib::ByteView{ping}.first(20), 20);
  CHECK_FALSE(reader.next(frame));
  reader.keep();
  const auto space = reader.read_space(lent).front.size();
  // after a large body, `behind` bytes in addition to those that are there
  CHECK(space == (behind == 4 << 10 ? behind : behind - 20));
  stream::give(reader, distrib::ByteView{ping}.subspan(20), 12);
  REQUIRE(reader.next(frame));
  reader.keep();
  CHECK(reader.read_space(lent).front.size() ==
        (behind == 4 << 10 ? behind : 64 << 10));  // the next frame may be large again
  stream::give(reader, ping, ping.size());
  REQUIRE(reader.next(frame));
  reader.keep();
  CHECK(reader.read_space(lent).front.size() == 64 << 10);
}

TEST_CASE("FrameReader: the memory of a body is reused when it has no other owner", "[rpc]") {
  const auto one = stream::frame({FrameKind::request}, "h", stream::body(100'000));
  FrameReader reader;
  distrib::Frame frame;
  const auto receive = [&] {
    for (std::size_t at = 0; at < one.size();) {
      at += stream::give(reader, distrib::ByteView{one}.subspan(at), one.size());
      if (at < one.size()) CHECK_FALSE(reader.next(frame));
      if (at < one.size()) reader.keep();
    }
    REQUIRE(reader.next(frame));
    CHECK(frame.body_checksum == distrib::crc32c(frame.body.bytes()));
    reader.keep();
    return frame.body.bytes().data();
  };
  CHECK_FALSE(reader.keeps_memory());
  const std::byte* const first = receive();
  CHECK(reader.keeps_memory());
  frame = {};
  CHECK(receive() == first);
  distrib::SharedBuffer mine = frame.body.owner();
  frame = {};
  CHECK(receive() != first);  // the test owns the first buffer
  CHECK(distrib::as_text(mine->bytes()) == distrib::as_text(frame.body.bytes()));
  frame = {};
  std::thread{[last = std::move(mine)]() mutable { last.reset(); }}.join();  // any thread may release it
  CHECK(receive() == first);
  reader.release_memory();
  CHECK_FALSE(reader.keeps_memory());
  frame = {};
}

TEST_CASE("FrameReader: small frames are parsed where they were received; only an incomplete frame is copied",
          "[rpc]") {
  const auto one = stream::frame({FrameKind::request}, "head", stream::body(100));
  Bytes bytes = one;
  bytes.insert(bytes.end(), one.begin(), one.begin() + 50);
  FrameReader reader;
  distrib::Frame frame;
  std::vector<std::byte> lent(distrib::least_read_bytes);
  CHECK(reader.read_space(lent).front.data() == lent.data());
  CHECK(reader.read_space(lent).front.size() == lent.size());  // the same answer when called twice
  std::copy(bytes.begin(), bytes.end(), lent.begin());
  reader.bytes_read(bytes.size());
  REQUIRE(reader.next(frame));
  CHECK(frame.head.data() == lent.data() + 32);
  CHECK(frame.body.owner() == nullptr);
  CHECK(frame.body.share()->size() == 100);
  CHECK_FALSE(reader.next(frame));
  reader.keep();
  reader.keep();
  std::vector<std::byte> other(distrib::least_read_bytes);
  const auto space = reader.read_space(other);
  CHECK(space.front.data() > other.data());
  std::copy(one.begin() + 50, one.end(), space.front.begin());
  reader.bytes_read(one.size() - 50);
  REQUIRE(reader.next(frame));
  CHECK(distrib::as_text(frame.head) == "head");
  CHECK(frame.head.data() == other.data());  // the header was used before, so it is not copied
}

TEST_CASE(
    "FrameReader: refuses bytes of another protocol, damaged frames, and too large frames before it allocates memory",
    "[rpc]") {
  auto garbage = Bytes(4096, std::byte{'G'});
  CHECK(first_error(garbage) == rpc_errc::not_ours);

  auto bytes = stream::frame({FrameKind::request}, "head", stream::body(10));
  for (const std::size_t at : {32U, 35U, 36U, 39U, 40U, 49U, 50U, 53U}) {  // head, its checksum, body, its checksum
    auto damaged = bytes;
    damaged[at] ^= std::byte{1};
    CAPTURE(at);
    CHECK(first_error(damaged) == rpc_errc::corrupt);
  }

  const auto announces = [](std::uint32_t head, std::uint32_t body) {
    const auto header = distrib::encode_frame_header({FrameKind::request, 0, 0, head, 0, body});
    return Bytes(header.begin(), header.end());
  };
  CHECK(first_error(announces(0xffffffff, 0)) == rpc_errc::too_large);
  CHECK(first_error(announces(0, 0xffffffff)) == rpc_errc::too_large);
  CHECK(first_error(announces(101, 0), {100, 100}) == rpc_errc::too_large);
  CHECK(first_error(announces(0, 101), {100, 100}) == rpc_errc::too_large);
  FrameReader reader{{100, 100}};
  CHECK(feed(reader, announces(100, 100), all_at_once).empty());
  CHECK_FALSE(reader.error());
  reader.set_limits({0, 0});  // has an effect from the next frame on
  CHECK_FALSE(reader.error());
}

TEST_CASE("FrameReader: returns the frames before the damage", "[rpc]") {
  auto bytes = stream::frame({FrameKind::ping});
  bytes.resize(100, std::byte{0});
  FrameReader reader;
  CHECK(feed(reader, bytes, all_at_once).size() == 1);
  CHECK(reader.error() == rpc_errc::not_ours);
}

TEST_CASE("FrameReader: has_rest is true when the last byte of a large head has arrived", "[rpc]") {
  const auto bytes = stream::frame({FrameKind::request}, std::string(20'000, 'h'));
  FrameReader reader;
  distrib::Frame frame;
  CHECK(stream::give(reader, bytes, 40) == 40);
  CHECK_FALSE(reader.next(frame));
  reader.keep();
  const distrib::ByteView rest = distrib::ByteView{bytes}.subspan(40);
  CHECK(stream::give(reader, rest, rest.size() - 1) == rest.size() - 1);
  CHECK_FALSE(reader.has_rest());
  CHECK(stream::give(reader, rest.last(1), 1) == 1);  // `next` was not called in between
  CHECK(reader.has_rest());
  reader.keep();
  CHECK(reader.has_rest());
  REQUIRE(reader.next(frame));
  CHECK_FALSE(reader.has_rest());
}

namespace {

/// A frame whose body was read in chunks.
struct InChunks {
  std::string head;
  Bytes body;
  std::uint32_t checksum = 0;
  bool ended = false;
};

/// Does the same as `feed`, but asks for chunks.
template <class Piece>
auto feed_chunks(FrameReader& reader, const Bytes& bytes, Piece piece) -> std::vector<InChunks> {
  std::vector<InChunks> frames;
  for (std::size_t at = 0; at < bytes.size() && !reader.error();) {
    at += stream::give(reader, distrib::ByteView{bytes}.subspan(at), piece());
    for (distrib::Frame frame; reader.next(frame, [](const FrameHeader&) { return true; });) {
      const distrib::ByteView some = frame.body.bytes();
      if (frame.part == distrib::FramePart::begin || frame.part == distrib::FramePart::whole) {
        CHECK((frames.empty() || frames.back().ended));
        frames.push_back({std::string{distrib::as_text(frame.head)}, {}, 0, false});
      }
      REQUIRE_FALSE(frames.empty());
      InChunks& last = frames.back();
      CHECK(frame.header->body_bytes >= last.body.size() + some.size());
      if (frame.part == distrib::FramePart::chunk && last.body.size() + some.size() < frame.header->body_bytes)
        CHECK(some.size() % 64 == 0);
      last.body.insert(last.body.end(), some.begin(), some.end());
      if (frame.is_last()) last.checksum = frame.body_checksum;
      last.ended = frame.is_last();
    }
    reader.keep();
  }
  return frames;
}

}  // namespace

TEST_CASE("FrameReader: several bodies in chunks one after another, each with its own checksum", "[rpc]") {
  const std::size_t sizes[] = {4096, 4097, 5000, 64 << 10, 70'000, 0, 200'001};  // up to 4 KiB: not in chunks
  Bytes bytes;
  for (const std::size_t size : sizes)
    for (const std::size_t head : {std::size_t{3}, std::size_t{20'000}}) {
      const auto frame = stream::frame({FrameKind::request}, std::string(head, 'h'), stream::body(size));
      bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
  std::mt19937 random{3};
  const auto any = [&] { return std::size_t{1} + random() % 9000; };
  const auto check = [&](const std::vector<InChunks>& frames) {
    REQUIRE(frames.size() == 2 * std::size(sizes));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      CAPTURE(i);
      const auto expected = stream::body(sizes[i / 2]);
      CHECK(frames[i].ended);
      CHECK(frames[i].head == std::string(i % 2 == 0 ? 3 : 20'000, 'h'));
      CHECK(distrib::as_text(frames[i].body) == distrib::as_text(expected->bytes()));
      CHECK(frames[i].checksum == (expected->size() == 0 ? 0 : distrib::crc32c(expected->bytes())));
    }
  };
  for (int way = 0; way < 3; ++way) {
    FrameReader reader;
    check(way == 0 ? feed_chunks(reader, bytes, all_at_once)
                   : feed_chunks(reader, bytes, way == 1 ? std::function{byte_by_byte} : std::function{any}));
    CHECK_FALSE(reader.error());
    CHECK_FALSE(reader.in_frame());
  }
}

TEST_CASE("FrameReader: damage in a frame that is read in chunks is found", "[rpc]") {
  const auto good = stream::frame({FrameKind::request}, std::string(20'000, 'h'), stream::body(70'000));
  const std::size_t body_at = 32 + 20'000 + 4;
  for (const std::size_t at : {std::size_t{32}, std::size_t{20'031}, std::size_t{20'033}, body_at, body_at + 69'999,
                               body_at + 70'000, body_at + 70'003}) {
    CAPTURE(at);
    Bytes damaged = good;
    damaged[at] ^= std::byte{1};
    FrameReader reader;
    const auto frames = feed_chunks(reader, damaged, all_at_once);
    CHECK(reader.error() == rpc_errc::corrupt);
    CHECK(frames.size() == (at < body_at ? 0 : 1));  // a damaged head is not returned
    if (!frames.empty()) CHECK_FALSE(frames[0].ended);
  }
}
