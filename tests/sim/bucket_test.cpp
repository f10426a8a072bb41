// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/bucket.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

auto object_of_text(std::string_view text) -> ObjectBytes {
  const ByteView bytes = as_bytes(text);
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

/// Sends one request, and performs everything.
auto ask_bucket(sim::Bucket& bucket, ObjectAction action) -> ObjectAnswer {
  const auto request = bucket.send(std::move(action));
  ObjectAnswer answer;
  while (auto performed = bucket.perform_any())
    if (performed->request == request) answer = performed->answer;
  return answer;
}

}  // namespace

TEST_CASE("A bucket has what was written to it") {
  sim::Dice dice{1};
  sim::Bucket bucket{dice, {}};
  ask_bucket(bucket, ObjectAction::put("a/2", object_of_text("two")));
  ask_bucket(bucket, ObjectAction::put("a/1", object_of_text("one")));
  ask_bucket(bucket, ObjectAction::put("b", object_of_text("b")));
  const auto list = ask_bucket(bucket, ObjectAction::list("a/"));
  REQUIRE(list.objects.size() == 2);
  CHECK(list.objects[0].key == "a/1");
  CHECK(list.objects[1].bytes == 3);
  CHECK(as_text(ask_bucket(bucket, ObjectAction::get("a/1", 10)).bytes) == "one");
  const auto end = ask_bucket(bucket, ObjectAction::get_end("a/1", 2));
  CHECK(as_text(end.bytes) == "ne");
  CHECK(end.objects.at(0).bytes == 3);
  ask_bucket(bucket, ObjectAction::remove("a/1"));
  CHECK(ask_bucket(bucket, ObjectAction::get("a/1", 10)).error.code == failure::not_found);
  CHECK_FALSE(ask_bucket(bucket, ObjectAction::remove("a/1")).error);
}

TEST_CASE("A bucket removes several objects in any order, not at once") {
  sim::Dice dice{1};
  sim::Bucket bucket{dice, {}};
  for (const char* const key : {"a", "b", "c", "d"}) ask_bucket(bucket, ObjectAction::put(key, object_of_text("1")));
  const auto request = bucket.send(ObjectAction::remove_all({"a", "b", "c"}));
  for (const std::size_t left : {3U, 2U}) {
    const auto performed = bucket.perform_any();
    REQUIRE(performed);
    CHECK(performed->request == 0);
    CHECK(performed->changed);
    CHECK(bucket.objects().size() == left);
    CHECK_FALSE(bucket.objects().contains(performed->key));
  }
  CHECK(bucket.perform_any()->request == request);
  CHECK(bucket.objects().size() == 1);
  CHECK_FALSE(ask_bucket(bucket, ObjectAction::remove_all({"a"})).error);
}

TEST_CASE("A slow request is under way for long, and performed in the end") {
  sim::Dice dice{1};
  sim::Bucket bucket{dice, {.slow_percent = 100}};
  const auto request = bucket.send(ObjectAction::put("a", object_of_text("1")));
  CHECK(bucket.is_slow(request));
  int looks = 0;
  while (!bucket.perform_one()) ++looks;
  CHECK(looks > 3);
  CHECK(bucket.objects().contains("a"));
  CHECK(bucket.under_way() == 0);
  CHECK_FALSE(bucket.is_slow(request));
}

TEST_CASE("The answer of a bucket is lost, although the request was performed") {
  sim::Dice dice{1};
  sim::Bucket bucket{dice, {.lost_percent = 100}};
  CHECK(ask_bucket(bucket, ObjectAction::put("a", object_of_text("1"))).lost);
  CHECK(bucket.objects().contains("a"));
  bucket.heal();
  CHECK_FALSE(ask_bucket(bucket, ObjectAction::list("")).lost);
}

TEST_CASE("An upload to a bucket is visible when it is complete, unless it was aborted") {
  int aborted = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::Dice dice{seed};
    sim::Bucket bucket{dice, {.in_parts = true}};
    bucket.send(ObjectAction::put("a", object_of_text("1")));
    REQUIRE(bucket.perform_any());
    CHECK(bucket.objects().empty());
    CHECK(bucket.uploads() == 1);
    bucket.send(ObjectAction::abort({"a", "1"}));
    bool lost = false;
    while (auto performed = bucket.perform_any())
      if (performed->kind == ObjectAction::Kind::put) lost = performed->answer.lost;
    CHECK(bucket.objects().empty() == lost);
    CHECK(bucket.uploads() == 0);
    aborted += lost ? 1 : 0;
  }
  CHECK(aborted > 0);
  CHECK(aborted < 20);
}

TEST_CASE("A late list of a bucket lacks what was written last") {
  sim::Dice dice{1};
  sim::Bucket bucket{dice, {.late_lists = true}};
  ask_bucket(bucket, ObjectAction::put("a", object_of_text("1")));
  int lacks = 0;
  for (int i = 0; i < 100; ++i) lacks += ask_bucket(bucket, ObjectAction::list("")).objects.empty() ? 1 : 0;
  CHECK(lacks > 10);
  CHECK(lacks < 60);
}
