// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_queue.hpp>

#include <distrib/core/sha256.hpp>
#include <distrib/net/connection_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

using distrib::ByteView;
using distrib::FrameHeader;
using distrib::FrameKind;
using distrib::FrameQueue;

TEST_CASE("FrameQueue: writes head and body with checksums, and no checksum for an empty part", "[rpc]") {
  CHECK(stream::frame({FrameKind::ping}).size() == distrib::frame_header_bytes);
  // the queue sets the lengths
  const auto bytes = stream::frame({FrameKind::item, 0, 0, 9, 3, 9}, "head", stream::body(2));
  REQUIRE(bytes.size() == 32 + 4 + 4 + 2 + 4);
  FrameHeader header;
  CHECK(distrib::parse_frame_header(bytes.data(), header) == distrib::rpc_errc{});
  CHECK(header == FrameHeader{FrameKind::item, 0, 0, 4, 3, 2});
  CHECK(distrib::as_text(ByteView{bytes}.subspan(32, 4)) == "head");
  CHECK(distrib::load_le<std::uint32_t>(bytes.data() + 36) == distrib::crc32c(distrib::as_bytes("head")));
  CHECK(distrib::to_hex(ByteView{bytes}.subspan(40, 2)) == "0108");
  CHECK(distrib::load_le<std::uint32_t>(bytes.data() + 42) == distrib::crc32c(ByteView{bytes}.subspan(40, 2)));
}

TEST_CASE("FrameQueue: frames queued together leave together, large bodies without a copy", "[rpc]") {
  FrameQueue queue;
  CHECK(queue.output().empty());
  const auto large = stream::body(1 << 20);
  CHECK(queue.batch() == 1);
  queue.add({FrameKind::request, 0, 1, 0, 1, 0}, {{}, {}, distrib::as_bytes("a")}, stream::body(100));
  queue.add({FrameKind::request, 0, 1, 0, 2, 0}, {}, large);
  queue.add({FrameKind::ping});
  CHECK(queue.batch() == 1);
  const auto& pieces = queue.output();
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[1].bytes().data() == large->data());
  const std::size_t size = 32 + 5 + 104 + 32 + (1 << 20) + 4 + 32;
  CHECK(queue.queued_bytes() == size);

  CHECK(queue.batch() == 2);
  queue.add({FrameKind::pong});  // while the other frames are being written
  CHECK(queue.output().data() == pieces.data());
  CHECK(queue.queued_bytes() == size + 32);
  CHECK(large.use_count() == 2);
  queue.written();
  CHECK(large.use_count() == 1);
  REQUIRE(queue.output().size() == 1);
  CHECK(queue.output()[0].bytes().size() == 32);
  queue.written();
  CHECK(queue.queued_bytes() == 0);
  CHECK(queue.output().empty());
}

TEST_CASE("FrameQueue: frames that may wait leave with the next frame that may not, or after hurry", "[rpc]") {
  FrameQueue queue;
  const auto add = [&queue](std::uint64_t call, bool may_wait) {
    queue.add({FrameKind::reply, 0, 0, 0, call, 0}, {}, {}, std::nullopt, may_wait);
  };
  add(1, true);
  add(2, true);
  CHECK(queue.output().empty());
  CHECK(queue.queued_bytes() == 64);
  add(3, false);
  add(4, true);  // leaves together with frame 3
  CHECK(stream::take_output(queue).size() == 4 * 32);

  add(5, true);
  CHECK(queue.output().empty());
  queue.hurry();
  REQUIRE(queue.output().size() == 1);
  add(6, true);  // while frame 5 is written
  queue.written();
  CHECK(queue.output().empty());
  queue.hurry();
  CHECK(stream::take_output(queue).size() == 32);
}

TEST_CASE("FrameQueue: the parts of a head are joined, and a body without an owner is copied", "[rpc]") {
  FrameQueue queue;
  std::vector<std::byte> mine(10'000, std::byte{7});
  queue.add({FrameKind::request}, {distrib::as_bytes("h"), distrib::as_bytes("e"), distrib::as_bytes("ad")},
            distrib::FrameBody{mine});
  std::fill(mine.begin(), mine.end(), std::byte{8});
  const auto bytes = stream::take_output(queue);
  CHECK(bytes.size() == 32 + 4 + 4 + 10'000 + 4);
  CHECK(distrib::as_text(ByteView{bytes}.subspan(32, 4)) == "head");
  CHECK(bytes[50] == std::byte{7});
}

TEST_CASE("FrameQueue: release frees the memory only when there is nothing to write", "[rpc]") {
  FrameQueue queue;
  queue.add({FrameKind::ping});
  queue.release();  // no effect: a frame is queued
  CHECK(stream::take_output(queue).size() == 32);
  const auto batch = queue.batch();
  queue.release();
  CHECK(queue.batch() == batch);
  queue.add({FrameKind::pong});
  CHECK(stream::take_output(queue).size() == 32);
}
