// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/stateless_step.hpp>

#include <distrib/data/stream/stream_steps.hpp>

#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

namespace {

using IntStream = distrib::detail::VectorStream<int>;

/// A step as a user may write it.
template <distrib::Stream Below>
class Doubled : public distrib::StatelessStep<Below> {
 public:
  using Element = int;
  explicit Doubled(Below below) : distrib::StatelessStep<Below>{std::move(below)} {}
  auto next(distrib::Error& error) -> std::optional<int> {
    const std::optional<int> element = this->below_.next(error);
    return element ? std::optional{2 * *element} : std::nullopt;
  }
  auto describe() const -> std::string { return this->below_.describe() + " doubled"; }
};

static_assert(distrib::Stream<Doubled<IntStream>>);
static_assert(!distrib::detail::SeekableStream<Doubled<IntStream>>);
static_assert(distrib::detail::SeekableStream<Doubled<distrib::RepeatedStream<IntStream>>>);

}  // namespace

TEST_CASE("StatelessStep: has the position of the stream below, and seeks with it", "[data]") {
  Doubled stream{distrib::RepeatedStream<IntStream>{IntStream{{1, 2, 3}}, 5}};
  distrib::Error error;
  stream.rewind(0, error);
  for (const int expected : {2, 4, 6, 2}) CHECK(stream.next(error) == expected);
  CHECK(stream.position().epoch == 1);
  CHECK(stream.position().elements == 1);
  stream.seek({3, 2}, error);
  CHECK(stream.next(error) == 6);
  CHECK(!error);
}
