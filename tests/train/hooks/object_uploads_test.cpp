// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/object_uploads.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using distrib::ObjectUploads;

namespace {

auto upload_bytes(std::string_view text) -> std::vector<std::byte> {
  const distrib::ByteView view = distrib::as_bytes(text);
  return {view.begin(), view.end()};
}

constexpr std::chrono::minutes long_enough{2};

}  // namespace

TEST_CASE("ObjectUploads: what is put is in the store at the end, the newest content of each", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  ObjectUploads uploads{"map://bucket/run/events", support::map_stores(bucket)};
  for (int i = 0; i < 20; ++i) uploads.put("a", upload_bytes(std::to_string(i)));
  uploads.put("b", upload_bytes("b"));
  CHECK(uploads.finish(long_enough));
  CHECK(distrib::as_text(bucket->objects["run/events/a"]) == "19");
  CHECK(distrib::as_text(bucket->objects["run/events/b"]) == "b");
  CHECK_FALSE(uploads.report());
  CHECK(uploads.finish(long_enough));
}

TEST_CASE("ObjectUploads: a store that is away is reported once, and asked again at the end", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  std::atomic<int> away = 1;
  bucket->fail = [&](const std::string&) { return away-- > 0 ? support::MapObjects::away() : std::error_code{}; };
  ObjectUploads uploads{"map://bucket/run", support::map_stores(bucket)};
  uploads.put("a", upload_bytes("a"));
  CHECK(uploads.finish(long_enough));
  CHECK(bucket->asked("put run/a") == 2);
  const auto told = uploads.report();
  REQUIRE(told);
  CHECK_THAT(told->text, ContainsSubstring("not written to map://bucket/run, the training continues: put run/a: "));
  CHECK_FALSE(uploads.report());

  away = 1'000'000;
  uploads.put("a", upload_bytes("b"));
  CHECK_FALSE(uploads.finish(std::chrono::milliseconds{700}));
  CHECK_THAT(uploads.report()->text, ContainsSubstring("the last files were not written to map://bucket/run"));
  CHECK(distrib::as_text(bucket->objects["run/a"]) == "a");
}

TEST_CASE("ObjectUploads: what is refused is not asked for again", "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  bucket->fail = [](const std::string&) { return std::make_error_code(std::errc::permission_denied); };
  ObjectUploads uploads{"map://bucket", [&](const std::string&, distrib::Error& error) {
                          return support::map_stores(bucket)("map://bucket/", error);
                        }};
  uploads.put("a", upload_bytes("a"));
  CHECK_FALSE(uploads.finish(long_enough));
  CHECK(bucket->asked("put a") == 1);
  CHECK(uploads.report());
  CHECK_THROWS_WITH((ObjectUploads{"s3://bucket/run", {}}), ContainsSubstring("distrib::http"));
}
