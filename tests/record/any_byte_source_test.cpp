// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/any_byte_source.hpp>

#include <distrib/record/error.hpp>

#include "support/catch.hpp"

#include <array>

using distrib::AnyByteSource;
using distrib::Error;

namespace {

// Returns the bytes 1, 2, 3 and then fails.
struct Counting {
  auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    if (next == 4) {
      error = {distrib::record_errc::truncated_header, "here"};
      return 0;
    }
    to[0] = static_cast<std::byte>(next++);
    return 1;
  }
  int next = 1;
};

}  // namespace

TEST_CASE("AnyByteSource: copies share one source, and its failures are passed on", "[record]") {
  STATIC_REQUIRE(distrib::ByteSource<AnyByteSource>);
  AnyByteSource source{Counting{}};
  AnyByteSource copy = source;
  std::array<std::byte, 4> to{};
  Error error;
  CHECK(source.read(to, error) == 1);
  CHECK(to[0] == std::byte{1});
  CHECK(copy.read(to, error) == 1);
  CHECK(to[0] == std::byte{2});
  CHECK(source.read(to, error) == 1);
  CHECK(to[0] == std::byte{3});
  CHECK_FALSE(error);
  CHECK(copy.read(to, error) == 0);
  CHECK(error.code == distrib::record_errc::truncated_header);
  CHECK(error.where == "here");
}
