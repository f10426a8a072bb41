// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_body.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <array>

using distrib::FrameBody;

TEST_CASE("FrameBody: share returns the owner, or a copy if there is no owner", "[rpc]") {
  const auto owner = stream::body(10);
  const FrameBody shared{owner};
  CHECK(shared.bytes().data() == owner->data());
  CHECK(shared.share() == owner);

  const std::array<std::byte, 3> some{std::byte{1}, std::byte{2}, std::byte{3}};
  const FrameBody lent{distrib::ByteView{some}};
  CHECK(lent.owner() == nullptr);
  CHECK(lent.bytes().data() == some.data());
  const distrib::SharedBuffer copy = lent.share();
  REQUIRE(copy->size() == 3);
  CHECK(copy->data()[2] == std::byte{3});

  CHECK(FrameBody{}.empty());
  CHECK(FrameBody{}.share() == nullptr);
  CHECK(FrameBody{nullptr}.empty());
  CHECK(FrameBody{stream::body(0)}.share() == nullptr);
}
