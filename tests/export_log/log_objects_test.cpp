// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/log_objects.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

using distrib::Error;

namespace {

const std::string object_hash(64, 'a');
const std::string part_of_test = "parts/00000000000000000007-s0-of-1-" + object_hash + ".safetensors";

auto manifest_of_test() -> distrib::LogManifest {
  distrib::LogManifest manifest;
  manifest.log = 0xfedcba9876543210;
  manifest.position = 2;
  manifest.before = "manifests/00000000000000000001-" + object_hash + ".json";
  manifest.step = 7;
  manifest.lineage = 9;
  manifest.parts.push_back({part_of_test, 1000, "", {1, 2}});
  distrib::LogTable table;
  table.info.name = "deep/\"embeddings\"";
  table.info.dim = 16;
  table.info.initializer = distrib::UniformInitializer{-0.25F, 0.5F};
  table.info.kept_as = distrib::FloatFormat::bfloat16;
  table.seed = 0x8000000000000000;
  table.rows = 3;
  table.digest = {~std::uint64_t{0}, 4};
  manifest.tables.push_back(table);
  return manifest;
}

auto refuses_manifest(std::string text, const std::string& what, const std::string& by) -> bool {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), by);
  Error error;
  const bool taken = distrib::parse_log_manifest(text, error).has_value();
  CHECK(taken != (error.code == distrib::export_errc::bad_object));
  return !taken;
}

}  // namespace

TEST_CASE("objects of a log are read as they were written") {
  Error error;
  const distrib::LogManifest manifest = manifest_of_test();
  CHECK(distrib::parse_log_manifest(to_text(manifest), error) == manifest);
  CHECK(!error);
  CHECK(!manifest.tables.empty());
  CHECK(manifest.is_base());

  const distrib::LogHead head{5, 2, distrib::manifest_name(2, to_text(manifest)), {1, 0, 7}};
  CHECK(distrib::parse_log_head(to_text(head), error) == head);
  const distrib::LogHead none{5, 0, "", {1}};
  CHECK(distrib::parse_log_head(to_text(none), error) == none);

  distrib::LogVote vote;
  vote.label = 7;
  vote.step = 7;
  vote.shard = 1;
  vote.shards = 2;
  vote.epoch = 3;
  vote.part = {part_of_test, 1000, part_of_test, {1, 2}};
  vote.tables = manifest.tables;
  CHECK(distrib::parse_log_vote(to_text(vote), error) == vote);
}

TEST_CASE("a position has the bytes that a reader that begins must read") {
  Error error;
  distrib::LogManifest manifest = manifest_of_test();
  CHECK(to_text(manifest).find("base_bytes") == std::string::npos);  // of a log of before
  manifest.add_up_bytes(nullptr);
  CHECK(manifest.base_bytes == 1000);
  CHECK(manifest.delta_bytes == 0);
  CHECK(distrib::parse_log_manifest(to_text(manifest), error) == manifest);
  const auto follow = [](const distrib::LogManifest& last, std::uint64_t bytes, bool is_base = false) {
    distrib::LogManifest next = last;
    next.parts[0].on = is_base ? "" : part_of_test;
    next.parts[0].bytes = bytes;
    next.add_up_bytes(&last);
    return next;
  };
  const distrib::LogManifest second = follow(manifest, 400);
  const distrib::LogManifest third = follow(second, 600);
  const distrib::LogManifest fourth = follow(third, 1);
  CHECK(third.base_bytes == 1000);
  CHECK(third.delta_bytes == 1000);
  CHECK_FALSE(third.outweighs_base());
  CHECK(fourth.outweighs_base());
  CHECK(distrib::parse_log_manifest(to_text(fourth), error) == fourth);
  CHECK(follow(fourth, 2000, true).base_bytes == 2000);
  CHECK(follow(fourth, 2000, true).delta_bytes == 0);
  // After a position of before they are known again from the next base on, or if that position is a base.
  distrib::LogManifest old = fourth;
  old.base_bytes = old.delta_bytes = 0;
  CHECK(follow(old, 5000) == [&] {
    distrib::LogManifest unknown = old;
    unknown.parts[0].bytes = 5000;
    return unknown;
  }());
  CHECK_FALSE(follow(old, 5000).outweighs_base());
  CHECK(follow(manifest_of_test(), 30).base_bytes == 1000);
  CHECK(follow(manifest_of_test(), 30).delta_bytes == 30);
}

TEST_CASE("an object of another form is refused") {
  const std::string text = to_text(manifest_of_test());
  CHECK(!refuses_manifest(text, R"("step":7)", R"("step":8,"unknown":{"a":[1]})"));
  CHECK(refuses_manifest(text, R"("format":1)", R"("format":2)"));
  CHECK(refuses_manifest(text, R"("step":7,)", ""));
  CHECK(refuses_manifest(text, R"("step":7)", R"("step":7,"step":7)"));
  CHECK(refuses_manifest(text, R"("step":7)", R"("step":-7)"));
  CHECK(refuses_manifest(text, R"("step":7)", R"("step":"7")"));
  CHECK(refuses_manifest(text, R"("position":2)", R"("position":1)"));
  CHECK(refuses_manifest(text, R"("position":2)", R"("position":0)"));
  CHECK(refuses_manifest(text, "fedcba9876543210", "FEDCBA9876543210"));
  CHECK(refuses_manifest(text, "fedcba9876543210", "fedcba987654321"));
  CHECK(refuses_manifest(text, "parts/0", "parts/../0"));
  CHECK(refuses_manifest(text, "parts/0", "/etc/0"));
  CHECK(refuses_manifest(text, R"("step":7)", R"("step":7,"base_bytes":-1)"));
  CHECK(refuses_manifest(text, R"("dim":16)", R"("dim":0)"));
  CHECK(refuses_manifest(text, "uniform low=-0.25", "uniform low=0.75"));
  CHECK(refuses_manifest(text, "bfloat16", "half"));
  CHECK(refuses_manifest(text, "}\n", "},\n"));
}

TEST_CASE("names of objects have the hash of their bytes, and lead nowhere else") {
  const std::string name = distrib::part_name(7, 3, 4, distrib::as_bytes("x"));
  CHECK(name.starts_with("parts/00000000000000000007-s3-of-4-2d711642b726b044"));
  CHECK(distrib::is_log_object(name));
  CHECK(distrib::hash_in_name(name) == distrib::sha256(distrib::as_bytes("x")));
  CHECK(distrib::vote_name(7, 3, 2) == "votes/00000000000000000007-s3-e2.json");
  CHECK(!distrib::hash_in_name(distrib::vote_name(7, 3, 2)));
  for (const char* wrong : {"", "head", "parts", "parts/", "parts/.x", "parts/../head", "parts/a/b", "/parts/a",
                            "other/a", "parts/A", "parts/a b"})
    CHECK(!distrib::is_log_object(wrong));
  CHECK(!distrib::is_log_object("parts/" + std::string(200, 'a')));
}
