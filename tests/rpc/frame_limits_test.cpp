// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_limits.hpp>

#include "support/catch.hpp"

using distrib::FrameLimits;

TEST_CASE("FrameLimits: a frame is allowed up to both limits", "[rpc]") {
  const FrameLimits limits{.head_bytes = 10, .body_bytes = 20};
  CHECK(limits.allow(0, 0));
  CHECK(limits.allow(10, 20));
  CHECK_FALSE(limits.allow(11, 20));
  CHECK_FALSE(limits.allow(10, 21));
}
