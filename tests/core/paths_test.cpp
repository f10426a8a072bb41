// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/paths.hpp>

#include "support/catch.hpp"

namespace detail = distrib::detail;

TEST_CASE("directory_of, file_of: divide a path", "[core]") {
  CHECK(detail::directory_of("/m/c-1") == "/m");
  CHECK(detail::directory_of("c-1") == ".");
  CHECK(detail::directory_of("/c-1") == "/");
  CHECK(detail::file_of("/m/c-1") == "c-1");
  CHECK(detail::file_of("c-1") == "c-1");
  CHECK(detail::file_of("m/").empty());
}

TEST_CASE("join_path: inside the directory, unless the path is absolute", "[core]") {
  CHECK(detail::join_path("/m", "c") == "/m/c");
  CHECK(detail::join_path("m/", "c") == "m/c");
  CHECK(detail::join_path("", "c") == "c");
  CHECK(detail::join_path("/m", "/c") == "/c");
}

TEST_CASE("shard_of_shards: numbers files as TensorFlow does", "[core]") {
  CHECK(detail::shard_of_shards(0, 2) == "00000-of-00002");
  CHECK(detail::shard_of_shards(12, 345) == "00012-of-00345");
  CHECK(detail::shard_of_shards(123456, 1234567) == "123456-of-1234567");
}
