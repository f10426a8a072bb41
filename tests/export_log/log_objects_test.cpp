// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/log_objects.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

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

// A position that follows the one of `manifest_of_test` and names bases.
auto manifest_with_bases() -> distrib::LogManifest {
  distrib::LogManifest manifest = manifest_of_test();
  manifest.parts[0].on = part_of_test;
  manifest.bases.push_back(
      {5, part_of_test, "parts/00000000000000000005-s0-of-1-base-e1-" + object_hash + ".safetensors", 700});
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

  const distrib::LogManifest with_bases = manifest_with_bases();
  CHECK(distrib::parse_log_manifest(to_text(with_bases), error) == with_bases);
  CHECK(to_text(manifest).find("bases") == std::string::npos);
  CHECK(to_text(vote).find("base") == std::string::npos);
  vote.base = with_bases.bases[0];
  CHECK(distrib::parse_log_vote(to_text(vote), error) == vote);
}

TEST_CASE("bases belong to the position whose parts they name, and to no other") {
  const distrib::LogManifest manifest = manifest_of_test();
  std::vector<distrib::LogBase> bases = manifest_with_bases().bases;
  CHECK(manifest.is_place_of(bases));
  CHECK_FALSE(manifest.is_place_of({}));
  bases.push_back(bases[0]);
  CHECK_FALSE(manifest.is_place_of(bases));
  bases.pop_back();
  bases[0].of = bases[0].name;
  CHECK_FALSE(manifest.is_place_of(bases));
}

TEST_CASE("bases of another form are refused") {
  Error error;
  const std::string text = to_text(manifest_with_bases());
  CHECK(!refuses_manifest(text, R"("bytes":700)", R"("bytes":700,"unknown":1)"));
  CHECK(refuses_manifest(text, R"("bytes":700)", R"("bytes":-700)"));
  CHECK(refuses_manifest(text, R"("bytes":700)", R"("bytes":18446744073709551615)"));
  CHECK(refuses_manifest(text, R"("label":5,)", ""));
  CHECK(refuses_manifest(text, R"("label":5)", R"("label":"5")"));
  CHECK(refuses_manifest(text, R"("of":"parts/)", R"("of":"parts/../)"));
  CHECK(refuses_manifest(text, R"("of":"parts/)", R"("of":"/)"));
  CHECK(refuses_manifest(text, "-base-e1-", "-base-e1/"));
  CHECK(refuses_manifest(text, "-base-e1-a", "-base-e1-"));  // no hash
  CHECK(refuses_manifest(text, R"("bases":[)", R"("bases":{"a":[)"));
  distrib::LogManifest two = manifest_with_bases();
  two.bases.push_back(two.bases[0]);
  CHECK(!distrib::parse_log_manifest(to_text(two), error));  // more than shards
  two.parts.push_back(two.parts[0]);
  CHECK(distrib::parse_log_manifest(to_text(two), error) == two);
  ++two.bases[1].label;
  CHECK(!distrib::parse_log_manifest(to_text(two), error));

  distrib::LogVote vote;
  vote.label = vote.step = 7;
  vote.part = {part_of_test, 1000, part_of_test, {1, 2}};
  vote.base = manifest_with_bases().bases[0];
  std::string voted = to_text(vote);
  CHECK(distrib::parse_log_vote(voted, error) == vote);
  voted.replace(voted.find("-base-e1"), 8, "/../e1aa");
  CHECK(!distrib::parse_log_vote(voted, error));
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
  // From a position on that names bases, they count from there.
  distrib::LogManifest named = fourth;
  named.bases = manifest_with_bases().bases;
  named.parts[0].bytes = 40;
  named.add_up_bytes(&fourth);
  CHECK(named.base_bytes == 700);
  CHECK(named.delta_bytes == 40);
  CHECK(follow(named, 50).base_bytes == 700);
  CHECK(follow(named, 50).delta_bytes == 90);
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
  const std::string base = distrib::base_name(7, 3, 4, 12, distrib::as_bytes("x"));
  CHECK(base.starts_with("parts/00000000000000000007-s3-of-4-base-e12-2d711642b726b044"));
  CHECK(distrib::is_log_object(base));
  CHECK(distrib::hash_in_name(base) == distrib::sha256(distrib::as_bytes("x")));
  CHECK(distrib::vote_name(7, 3, 2) == "votes/00000000000000000007-s3-e2.json");
  CHECK(!distrib::hash_in_name(distrib::vote_name(7, 3, 2)));
  for (const char* wrong : {"", "head", "parts", "parts/", "parts/.x", "parts/../head", "parts/a/b", "/parts/a",
                            "other/a", "parts/A", "parts/a b"})
    CHECK(!distrib::is_log_object(wrong));
  CHECK(!distrib::is_log_object("parts/" + std::string(200, 'a')));
}
