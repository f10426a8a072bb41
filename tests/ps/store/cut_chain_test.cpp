// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/cut_chain.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <optional>

using distrib::CutChain;
using distrib::Step;

namespace {

constexpr CutChain::Sizes tenth{1000, 100};

auto never_kept() -> CutChain {
  return {[](Step) { return false; }, 0};
}

// Begins a cut, which becomes durable. Returns its base.
auto saved(CutChain& chain, Step step, CutChain::Sizes sizes = tenth, bool whole = false) -> std::optional<Step> {
  const CutChain::Begun begun = chain.begin(step, sizes, whole);
  CHECK(chain.durable(step) == begun.number);
  return begun.base;
}

}  // namespace

TEST_CASE("CutChain: the first cut is whole, and the next ones stand on the one before", "[ps]") {
  CutChain chain = never_kept();
  CHECK(saved(chain, 10) == std::nullopt);
  CHECK(saved(chain, 20) == 10);
  CHECK(saved(chain, 30) == 20);
}

TEST_CASE("CutChain: a cut that the user keeps, or that must be whole, begins a chain", "[ps]") {
  CutChain chain{[](Step step) { return step % 30 == 0; }, 0};
  saved(chain, 10);
  CHECK(saved(chain, 20) == 10);
  CHECK(saved(chain, 30) == std::nullopt);
  CHECK(saved(chain, 40) == 30);
  CHECK(saved(chain, 50, tenth, true) == std::nullopt);
  CHECK(saved(chain, 55) == 50);
  CHECK(saved(chain, 58, {1000, std::nullopt}) == std::nullopt);
}

TEST_CASE("CutChain: a chain ends before its bytes pass those of its whole cut, or at 50 links", "[ps]") {
  CutChain chain = never_kept();
  saved(chain, 1);
  for (Step step = 2; step <= 11; ++step) CHECK(saved(chain, step) == step - 1);  // ten times 100 of 1000
  CHECK(saved(chain, 12) == std::nullopt);
  CHECK(saved(chain, 13, {2000, 1001}) == std::nullopt);
  CHECK(saved(chain, 14, {1000, 2000}) == 13);
  CHECK(saved(chain, 15, {1000, 1}) == std::nullopt);
  for (Step step = 16; step < 16 + CutChain::most_links; ++step) CHECK(saved(chain, step, {1000, 1}) == step - 1);
  CHECK(saved(chain, 16 + CutChain::most_links, {1000, 1}) == std::nullopt);
}

TEST_CASE("CutChain: a cut stands on the newest that was durable when it was begun", "[ps]") {
  CutChain chain = never_kept();
  saved(chain, 10);
  CHECK(chain.begin(20, tenth, false).base == 10);
  CHECK(chain.begin(30, tenth, false).base == 10);  // 20 may be given up
  CHECK(chain.durable(20) == 2);
  CHECK(chain.begin(40, tenth, false).base == 20);
  CHECK(chain.durable(40) == 4);
  CHECK(chain.durable(30) == 0);  // older than the base: it was given up for 40
  CHECK(saved(chain, 50) == 40);
}

TEST_CASE("CutChain: after another state was loaded, cuts are whole until they are newer than all", "[ps]") {
  CutChain chain{[](Step) { return false; }, 25};
  CHECK(saved(chain, 10) == std::nullopt);
  CHECK(saved(chain, 20) == std::nullopt);  // there is a cut of 25, which may stand on an older cut of 20
  CHECK(saved(chain, 30) == 20);
  CHECK(chain.begin(40, tenth, false).base == 30);
  chain.loaded(20);
  CHECK(chain.durable(40) == 0);  // it was begun before
  CHECK(chain.begin(30, tenth, false).base == std::nullopt);  // this one is given up,
  CHECK(chain.begin(45, tenth, false).base == std::nullopt);  // and what changed since the cuts of before is not known
  CHECK(saved(chain, 30) == std::nullopt);
  CHECK(saved(chain, 40) == std::nullopt);
  CHECK(saved(chain, 50) == 40);
  chain.loaded(70);  // the state of another replica
  CHECK(saved(chain, 70) == std::nullopt);
  CHECK(saved(chain, 80) == 70);
}
