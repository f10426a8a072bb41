// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/image_event.hpp>

#include "summary/summary_bytes.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstddef>

TEST_CASE("image_event: has the fields of TensorFlow", "[summary][image_event]") {
  distrib::WireWriter out;
  const std::array encoded{std::byte{0xff}, std::byte{0xd8}};
  distrib::write_image_event(out, 1.5, 7, "i", {.height = 2, .width = 3, .channels = 4, .encoded = encoded});
  CHECK(distrib::to_hex(support::field_of(support::field_of(out.view(), 5), 1)) == "0a0169220a0802100318042202ffd8");
}
