// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/io_action.hpp>

#include "support/catch.hpp"

#include <utility>

TEST_CASE("FileAction: a write knows its size, and keeps its views when moved", "[io_action]") {
  auto write = distrib::FileAction::write("part", {distrib::as_bytes("abc"), distrib::as_bytes("de")}, {});
  CHECK(write.size() == 5);
  write.owned.assign(3, std::byte{1});
  CHECK(write.size() == 8);
  CHECK(distrib::FileAction::append("part", {distrib::as_bytes("abc")}, {std::byte{1}}).size() == 4);

  distrib::FilePlan plan;
  plan.push_back(std::move(write));
  plan.push_back(distrib::FileAction::rename("part", "whole"));
  const auto& moved = plan.front();
  CHECK(moved.size() == 8);
  CHECK(distrib::as_text(moved.views[1]) == "de");
}

TEST_CASE("append: adds the second plan after the first", "[io_action]") {
  distrib::FilePlan plan{distrib::FileAction::sync("a")};
  append(plan, {distrib::FileAction::remove("b"), distrib::FileAction::sync_directory("c")});
  REQUIRE(plan.size() == 3);
  CHECK(plan[0].path == "a");
  CHECK(plan[1].path == "b");
  CHECK(plan[2].path == "c");
}
