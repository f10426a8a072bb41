// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/replies.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

#include <type_traits>

using distrib::Progress;

TEST_CASE("Progress: a value", "[ps]") {
  CHECK(Progress{3, {0, 2}} == Progress{3, {0, 2}});
  CHECK(Progress{3, {0, 2}} != Progress{2, {0, 2}});
  CHECK(Progress{3, {0, 2}} != Progress{3, {0}});
  CHECK(Progress{} == Progress{0, {}});
}

TEST_CASE("Replies: moved without copying what they carry", "[ps]") {
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::Contribution>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::ValuesReply>);
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  distrib::ValuesReply reply{1, 2, block, {2, {0}}, 2};
  const distrib::ValuesReply moved = std::move(reply);
  CHECK(block.use_count() == 2);
  CHECK(moved.block == block);
  CHECK(distrib::Contribution{}.block == nullptr);
}

TEST_CASE("RefusedReply: which contribution, and what of it", "[ps]") {
  CHECK(to_string(distrib::RefusedReply{7, distrib::ps_errc::wrong_size, 3, 1}) == "step 3 of rank 1");
  CHECK(to_string(distrib::RefusedReply{7, distrib::ps_errc::not_finite, 3, 1, "hidden/weights"}) ==
        "step 3 of rank 1, hidden/weights");
}

TEST_CASE("end_of_job: no step comes after it", "[ps]") { CHECK(distrib::end_of_job + 1 == 0); }
