// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/any_object_store.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <array>
#include <memory>
#include <string>

using namespace distrib;

TEST_CASE("AnyObjectStore: passes everything on to its store, which copies share", "[record]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  Error error;
  ObjectDirectory directory = support::map_stores(bucket)("map://bucket/run", error);
  CHECK_FALSE(error);
  CHECK(directory.root == "run");
  AnyObjectStore store = directory.store;
  CHECK(store.put("run/a", as_bytes("letters"), error) == "1");
  CHECK(as_text(directory.store.get("run/a", 100, error)) == "letters");
  CHECK(store.info("run/a", error).bytes == 7);
  std::array<std::byte, 3> three{};
  store.get_range("run/a", 2, three, {}, error);
  CHECK(as_text(three) == "tte");
  ObjectInfo found;
  CHECK(as_text(store.get_end("run/a", 2, found, error)) == "rs");
  CHECK(found.bytes == 7);
  CHECK(store.list("run/", error).size() == 1);
  bucket->uploads = {{"run/b", "1"}};
  const auto uploads = store.uploads("run/", error);
  REQUIRE(uploads.size() == 1);
  store.abort(uploads.front(), error);
  CHECK(bucket->uploads.empty());
  store.copy("run/a", "run/c", error);
  CHECK(as_text(store.get("run/c", 100, error)) == "letters");
  store.remove("run/a", error);
  CHECK_FALSE(error);
  CHECK(store.get("run/a", 100, error).empty());
  CHECK(error.code == failure::not_found);
  const std::string keys[] = {"run/a", "run/c"};
  store.remove_all(keys, error);  // one by one: the bucket has nothing else
  CHECK_FALSE(error);
  CHECK(bucket->objects.empty());
  CHECK(bucket->asked("remove ") == 3);
}

TEST_CASE("is_url: a scheme and ://", "[record]") {
  for (const char* const url : {"s3://bucket", "gs://b/run", "s3+http://host:1/b", "hdfs://x"})
    CHECK(detail::is_url(url));
  for (const char* const path : {"", "/a", "relative/path", "://x", "C:/x", "a b://c"})
    CHECK_FALSE(detail::is_url(path));
}
