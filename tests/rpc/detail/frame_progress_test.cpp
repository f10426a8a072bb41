// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/detail/frame_progress.hpp>

#include "support/catch.hpp"

using distrib::Instant;
using distrib::detail::frame_progress_bytes;
using distrib::detail::FrameProgress;
using namespace std::chrono_literals;

TEST_CASE("FrameProgress: time counts from the first byte of a frame, and again from each sufficient piece", "[rpc]") {
  const Instant start{1h};
  FrameProgress progress;
  CHECK(progress.since() == Instant::max());
  progress.read(100);
  progress.look(false, true, start);
  CHECK(progress.since() == Instant::max());
  progress.read(10);
  progress.look(true, false, start);
  CHECK(progress.since() == start);
  progress.read(frame_progress_bytes - 1);
  progress.look(true, false, start + 1s);
  CHECK(progress.since() == start);
  progress.read(1);
  progress.look(true, false, start + 2s);
  CHECK(progress.since() == start + 2s);
  progress.read(50);
  progress.look(true, true, start + 3s);  // that frame is complete; another has begun
  CHECK(progress.since() == start + 3s);
  progress.look(false, true, start + 4s);
  CHECK(progress.since() == Instant::max());
}

TEST_CASE("FrameProgress: no time counts while this end does not read", "[rpc]") {
  const Instant start{1h};
  FrameProgress progress;
  progress.read(10);
  progress.look(true, false, start);
  progress.stop();
  CHECK(progress.since() == Instant::max());
  progress.look(true, false, start + 1h);
  CHECK(progress.since() == start + 1h);
}
