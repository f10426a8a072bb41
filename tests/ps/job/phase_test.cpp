// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/phase.hpp>

#include "support/catch.hpp"

#include <set>
#include <string_view>

TEST_CASE("Phase: each kind has a word of its own", "[ps]") {
  using Kind = distrib::Phase::Kind;
  std::set<std::string_view> words;
  for (const Kind kind : {Kind::compute, Kind::push, Kind::wait, Kind::pull, Kind::save, Kind::reached})
    words.insert(distrib::to_string(kind));
  CHECK(words == std::set<std::string_view>{"compute", "push", "wait", "pull", "save", "reached"});
  CHECK(distrib::to_string(static_cast<Kind>(77)) == "?");
}
