// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/object_log.hpp>

#include <distrib/export_log/retire_log.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

using distrib::ByteView;
using distrib::Error;
using distrib::export_errc;
using distrib::LogHead;
using support::MapClient;
using support::MapObjects;

namespace {

static_assert(distrib::HeadStore<distrib::ObjectLog<MapClient>>);

/// A log in a bucket in memory.
struct LogInBucket {
  std::shared_ptr<MapObjects> bucket = std::make_shared<MapObjects>();
  MapClient client{bucket};
  distrib::ObjectLog<MapClient> log;

  explicit LogInBucket(const std::string& prefix) : log{client, prefix} {}
};

auto head_of_log(std::uint64_t epoch) -> LogHead { return {7, 0, {}, {epoch}}; }

}  // namespace

TEST_CASE("ObjectLog: a head is replaced only from the version that was read") {
  LogInBucket made{"jobs/clicks"};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  Error error;
  CHECK_FALSE(log.read_head(error));
  CHECK_FALSE(error);
  CHECK(log.swap_head("", head_of_log(1), error));
  CHECK(bucket.objects.contains("jobs/clicks/head"));
  CHECK_FALSE(log.swap_head("", head_of_log(2), error));
  CHECK_FALSE(error);
  const auto head = log.read_head(error);
  REQUIRE(head);
  CHECK(head->head == head_of_log(1));
  CHECK(log.swap_head(head->version, head_of_log(2), error));
  CHECK_FALSE(log.swap_head(head->version, head_of_log(3), error));
  CHECK_FALSE(error);
  CHECK(log.read_head(error)->head == head_of_log(2));
  bucket.objects.erase("jobs/clicks/head");
  CHECK_FALSE(log.swap_head(head->version, head_of_log(4), error));
  CHECK(error);
}

TEST_CASE("ObjectLog: the version belongs to the head that was read, also if it changes meanwhile") {
  LogInBucket made{""};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  Error error;
  REQUIRE(log.swap_head("", head_of_log(1), error));
  bool is_replaced = false;
  bucket.fail = [&](const std::string& request) {
    if (request == "get head" && !std::exchange(is_replaced, true))
      bucket.write("head", distrib::as_bytes(to_text(head_of_log(2))));
    return std::error_code{};
  };
  const auto head = log.read_head(error);
  REQUIRE(head);
  CHECK(head->head == head_of_log(2));
  CHECK(head->version == std::to_string(bucket.versions.at("head")));
  const std::size_t asked = bucket.requests.size();
  CHECK(log.read_head(error)->head == head_of_log(2));
  CHECK(bucket.requests.size() == asked + 1);  // it has not changed
}

TEST_CASE("ObjectLog: objects are written once") {
  LogInBucket made{"log"};
  auto& log = made.log;
  Error error;
  const std::string first = "first";
  log.put("votes/1", distrib::as_bytes(first), error);
  CHECK_FALSE(error);
  log.put("votes/1", distrib::as_bytes("other"), error);
  CHECK_FALSE(error);
  CHECK(distrib::as_text(ByteView{log.get("votes/1", 100, error)}) == first);
  CHECK(log.get("votes/2", 100, error).empty());
  CHECK(error.code == export_errc::missing_object);
  log.remove("votes/1", error);
  CHECK_FALSE(error);
  static_cast<void>(log.get("votes/1", 100, error));
  CHECK(error.code == export_errc::missing_object);
}

TEST_CASE("ObjectLog: a store that ignores conditions is refused, and an error of the store is passed on") {
  LogInBucket made{"log"};
  MapObjects& bucket = *made.bucket;
  auto& log = made.log;
  bucket.honours_conditions = false;
  Error error;
  CHECK_FALSE(log.swap_head("", head_of_log(1), error));
  CHECK(error.code == export_errc::no_conditions);
  log.put("votes/1", {}, error);
  CHECK(error.code == export_errc::no_conditions);
  CHECK_FALSE(bucket.objects.contains("log/head"));
  CHECK_FALSE(bucket.objects.contains("log/votes/1"));
  bucket.honours_conditions = true;
  CHECK(log.swap_head("", head_of_log(1), error));
  bucket.fail = [](const std::string&) { return MapObjects::mismatch(); };  // for another reason
  log.put("votes/1", {}, error);
  CHECK(error.where == "put log/votes/1");
}
