// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/backoff.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::Backoff;
using distrib::BackoffOptions;
using distrib::Instant;
using namespace std::chrono_literals;

namespace {

const Instant start{1'000h};

/// Returns the pauses after attempts that fail at once.
auto pauses(Backoff backoff, int count) -> std::vector<Instant::duration> {
  std::vector<Instant::duration> found;
  for (int i = 0; i < count; ++i) {
    backoff.begin(start);
    found.push_back(backoff.failed(start) - start);
  }
  return found;
}

}  // namespace

TEST_CASE("Backoff: pauses double up to the longest one, and each is in the second half of its length", "[rpc]") {
  const BackoffOptions options{.first = 100ms, .longest = 1'000ms};
  const std::chrono::milliseconds nominal[] = {100ms, 200ms, 400ms, 800ms, 1'000ms, 1'000ms};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto found = pauses(Backoff{options, seed}, 6);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(found[i] >= nominal[i] / 2);
      CHECK(found[i] < nominal[i]);
    }
  }
}

TEST_CASE("Backoff: the same seed gives the same pauses, another seed or sequence gives other pauses", "[rpc]") {
  const auto found = pauses(Backoff{{}, 7}, 5);
  CHECK(found == pauses(Backoff{{}, 7}, 5));
  CHECK(found != pauses(Backoff{{}, 8}, 5));
  CHECK(found != pauses(Backoff{{}, 7, 1}, 5));
}

TEST_CASE("Backoff: a pause counts from the start of the attempt, and is the first pause again after a success",
          "[rpc]") {
  Backoff backoff{{.first = 100ms, .longest = 10'000ms}};
  for (int i = 0; i < 5; ++i) {
    backoff.begin(start);
    CHECK(backoff.failed(start + 1h) == start + 1h);  // the attempt took longer than any pause
  }
  backoff.begin(start);
  backoff.succeeded();
  const Instant again = backoff.failed(start + 10ms);  // the connection ended soon
  CHECK(again >= start + 50ms);
  CHECK(again < start + 100ms);
  backoff.begin(again);
  backoff.succeeded();
  CHECK(backoff.failed(again + 1s) == again + 1s);  // the connection held long
}

TEST_CASE("Backoff: options of zero or less still give pauses", "[rpc]") {
  for (const auto pause : pauses(Backoff{{.first = 0ms, .longest = -1ms}}, 5)) CHECK(pause >= 500us);
}

TEST_CASE("Backoff: the longest times are bounded by a century, and their pauses do not overflow", "[rpc]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  constexpr auto century = distrib::detail::century;
  for (const auto pause : pauses(Backoff{{.first = for_ever, .longest = for_ever}}, 3)) {
    CHECK(pause >= century / 2);
    CHECK(pause <= century);
  }
  const auto doubled = pauses(Backoff{{.first = 1ms, .longest = for_ever}}, 70);
  for (int i = 0; i < 41; ++i) CHECK(doubled[static_cast<std::size_t>(i)] >= std::chrono::milliseconds{1LL << i} / 2);
  for (const auto pause : doubled) CHECK(pause <= century);
  CHECK(doubled.back() >= century / 2);
}
