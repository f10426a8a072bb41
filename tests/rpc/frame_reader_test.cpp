// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_reader.hpp>

#include <distrib/net/connection_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>

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

/// Feeds all bytes, `piece()` at a time, and takes every frame.
template <class Piece>
auto feed(FrameReader& reader, const Bytes& bytes, Piece piece) -> std::vector<Received> {
  std::vector<Received> frames;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto space = reader.read_space();
    if (space.empty()) break;
    const std::size_t count = std::min({space.size(), bytes.size() - at, std::size_t{piece()}});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, space.begin());
    reader.bytes_read(count);
    at += count;
    while (const distrib::Frame* frame = reader.next()) {
      Bytes body;
      if (frame->body != nullptr) body.assign(frame->body->bytes().begin(), frame->body->bytes().end());
      frames.push_back({frame->header, std::string{distrib::as_text(frame->head)}, body});
    }
  }
  return frames;
}

const auto all_at_once = [] { return std::size_t{1} << 30; };
const auto byte_by_byte = [] { return std::size_t{1}; };

/// Frames of all shapes, one after the other.
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
  CHECK(reader.read_space().empty());
  CHECK(reader.next() == nullptr);
  return reader.error();
}

}  // namespace

TEST_CASE("FrameReader: the same frames however the stream is cut", "[rpc]") {
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

TEST_CASE("FrameReader: a large body is received where it stays", "[rpc]") {
  const auto bytes = stream::frame({FrameKind::request}, "h", stream::body(1 << 20));
  FrameReader reader;
  const std::size_t before = 32 + 5 + 10;  // of the body, 10 bytes come with the head
  std::copy_n(bytes.begin(), before, reader.read_space().begin());
  reader.bytes_read(before);
  CHECK(reader.next() == nullptr);
  const auto space = reader.read_space();
  REQUIRE(space.size() == (1 << 20) - 10);
  std::copy_n(bytes.begin() + before, space.size(), space.begin());
  reader.bytes_read(space.size());
  CHECK(reader.next() == nullptr);  // the checksum is missing
  std::copy(bytes.end() - 4, bytes.end(), reader.read_space().begin());
  reader.bytes_read(4);
  const distrib::Frame* frame = reader.next();
  REQUIRE(frame != nullptr);
  CHECK(frame->body->data() + 10 == space.data());
}

TEST_CASE("FrameReader: refuses damage, strangers and what is too large before taking memory", "[rpc]") {
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
  reader.set_limits({0, 0});  // counts from the next frame on
  CHECK_FALSE(reader.error());
}

TEST_CASE("FrameReader: frames before the damage are handed out", "[rpc]") {
  auto bytes = stream::frame({FrameKind::ping});
  bytes.resize(100, std::byte{0});
  FrameReader reader;
  CHECK(feed(reader, bytes, all_at_once).size() == 1);
  CHECK(reader.error() == rpc_errc::not_ours);
}
