// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/stream.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <string>

TEST_CASE("VectorStream: returns elements from memory; rewind begins at the first one again", "[data]") {
  STATIC_REQUIRE(distrib::Stream<distrib::detail::VectorStream<int>>);
  STATIC_REQUIRE(!distrib::Stream<int>);
  STATIC_REQUIRE(!distrib::detail::SeekableStream<distrib::detail::VectorStream<int>>);
  distrib::detail::VectorStream<std::string> stream{{"a", "b"}};
  distrib::Error error;
  CHECK(numbers::drained(stream) == std::vector<std::string>{"a", "b"});
  CHECK(!stream.next(error));
  stream.rewind(1, error);
  CHECK(stream.next(error) == "a");
  CHECK(stream.describe() == "elements=2");
}

TEST_CASE("Held: keeps the bytes of a record", "[data]") {
  std::vector<std::byte> bytes{std::byte{1}, std::byte{2}};
  const distrib::detail::Held<distrib::Record> held{distrib::Record{bytes, 7, 3}};
  bytes.assign(2, std::byte{9});
  CHECK(held.get().bytes[1] == std::byte{2});
  CHECK(held.get().offset == 7);
  CHECK(held.get().number == 3);
}
