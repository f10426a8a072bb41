// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/pipeline.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <string>

using distrib::data_errc;
using distrib::DataState;
using distrib::pipeline;

namespace {
using Ints = std::vector<int>;

/// Checks, for each number of elements read from `make()`, that a pipeline resumed from the state returns the rest.
template <class Make>
void resumes_everywhere(Make make) {
  auto whole_pipeline = make();
  const auto whole = numbers::drained(whole_pipeline);
  REQUIRE(whole.size() >= 3);
  for (std::size_t taken = 0; taken <= whole.size(); ++taken) {
    CAPTURE(taken);
    auto first = make();
    for (std::size_t i = 0; i < taken; ++i) CHECK(first.next());
    const std::string text = to_string(first.state());
    CHECK(text.size() <= 100);
    auto second = make();
    if (taken % 2 == 1) CHECK(second.next());
    second.resume(distrib::parse_data_state(text));
    CHECK(to_string(second.state()) == text);
    const auto rest = numbers::drained(second);
    CHECK(rest == std::vector(whole.begin() + static_cast<std::ptrdiff_t>(taken), whole.end()));
  }
}

auto ten() { return pipeline(Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}); }
auto odd(int n) -> bool { return n % 2 == 1; }

}  // namespace

TEST_CASE("Pipeline: a range that throws on failure", "[data]") {
  Ints found;
  auto some = ten().filter(odd);
  for (const int n : some) found.push_back(n);
  CHECK(found == Ints{1, 3, 5, 7, 9});
  auto refused = ten().window_shuffle(0, 1);
  CHECK_THROWS_AS(refused.begin(), std::system_error);
  CHECK_THROWS_AS(refused.next(), std::system_error);
}

TEST_CASE("Pipeline: resumes exactly, from the state after any element", "[data]") {
  resumes_everywhere([] { return ten(); });
  resumes_everywhere([] { return ten().filter(odd).repeat(3); });
  resumes_everywhere([] { return ten().window_shuffle(4, 7).repeat(3).map([](int n) { return n + 1; }); });
  resumes_everywhere([] { return ten().window_shuffle(4, 7).repeat(3).filter(odd).batch(4); });
  resumes_everywhere([] { return ten().repeat(3).window_shuffle(4, 7); });
  resumes_everywhere([] { return ten().repeat(3).skip(4).shard(3, 1); });
  resumes_everywhere([] { return ten().concatenate(ten()).repeat(2).batch(7, distrib::Remainder::keep); });
  resumes_everywhere([] { return ten().zip(ten().skip(3)).repeat(2); });
}

TEST_CASE("Pipeline: resuming far into an endless stream reads only the elements of one epoch", "[data]") {
  auto endless = ten().window_shuffle(10, 3).repeat();
  const DataState state{endless.state().data, std::uint64_t{1} << 60, 3};
  endless.resume(state);
  CHECK(endless.state() == state);
  CHECK(endless.next());
  CHECK(endless.state().position == 4);
}

TEST_CASE("Pipeline: refuses the state of another pipeline", "[data]") {
  auto one = ten().window_shuffle(4, 7);
  auto other = ten().window_shuffle(4, 8);
  distrib::Error error;
  other.resume(one.state(), error);
  CHECK(error.code == data_errc::other_data);
  CHECK_THROWS_AS(other.resume(one.state()), std::system_error);
  const DataState beyond{one.state().data, 0, 1000};
  one.resume(beyond);
  CHECK(!one.next());
}

TEST_CASE("Pipeline: after resume, its own state counts on from there", "[data]") {
  const auto counts_on = [](auto make) {
    auto first = make();
    for (int i = 0; i < 3; ++i) CHECK(first.next());
    const DataState state = first.state();
    CHECK(state.position == 3);
    auto second = make();
    second.resume(state);
    CHECK(second.state() == state);
    CHECK(second.next());
    CHECK(second.state().position == 4);
  };
  counts_on([] { return ten().take(8); });
  counts_on([] { return ten().window_shuffle(4, 7); });
  counts_on([] { return ten().filter(odd).skip(1); });
  counts_on([] { return ten().repeat(3); });
}
