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

TEST_CASE("shown_url: shows no user, no password and no query", "[core]") {
  const struct {
    const char* url;
    const char* shown;
  } rows[] = {
      {"https://h/a.tfrecord", "https://h/a.tfrecord"},
      {"https://h:8443/a@b:c", "https://h:8443/a@b:c"},
      {"https://h/a.tfrecord?sig=SECRET", "https://h/a.tfrecord"},
      {"https://h?sig=SECRET", "https://h"},
      {"https://h/a#SECRET", "https://h/a"},
      {"https://h/a?u=x@SECRET/b", "https://h/a"},
      {"https://SECRET@h/a", "https://h/a"},
      {"https://u:SECRET@h:1/a?sig=SECRET", "https://h:1/a"},
      {"https://u:SECRET@SECRET@h/a", "https://h/a"},
      {"https://u:SECRET/SECRET@h/a", "https://h/a"},  // wrong URLs: the password should be percent-encoded
      {"https://u:SECRET?SECRET@h/a", "https://h/a"},
      {"https://u:SECRET#SECRET@h/a", "https://h/a"},
      {"https://[::1]/a@b?SECRET", "https://[::1]/a@b"},
      {"https://[::1]:80/a@b?SECRET", "https://[::1]:80/a@b"},
      {"u:SECRET@h/a?sig=SECRET", "h/a"},
      {"h/a?to=http://SECRET", "h/a"},
      {"hdfs://SECRET@nn:9000/d/part-?", "hdfs://nn:9000/d/part-?"},
      {"webhdfs://nn/d/a#b?", "webhdfs://nn/d/a#b?"},
      {"hdfs:///d", "hdfs:///d"},
      {"s3a://KEY:SECRET@bucket/a", "s3a://bucket/a"},
      {"://", "://"},
      {"", ""},
      {"https://", "https://"},
      {"https://@", "https://"},
      {"https://:", "https://:"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.url);
    CHECK(detail::shown_url(row.url) == row.shown);
  }
}

TEST_CASE("shown_name: paths stay as they are", "[core]") {
  for (const char* path : {"", "a", "/d/part-?", "/d/u@h/a#b?c=d", "d/x://y?z", "://x?y"})
    CHECK(detail::shown_name(path) == path);
  CHECK(detail::shown_name("https://u@h/a?b") == "https://h/a");
}

TEST_CASE("shard_of_shards: numbers files as TensorFlow does", "[core]") {
  CHECK(detail::shard_of_shards(0, 2) == "00000-of-00002");
  CHECK(detail::shard_of_shards(12, 345) == "00012-of-00345");
  CHECK(detail::shard_of_shards(123456, 1234567) == "123456-of-1234567");
}
