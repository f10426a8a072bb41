// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/part_writer.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/merge_parts.hpp>

#include "checkpoint/parts.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

using distrib::BundlePart;
using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::Error;
using distrib::FileAction;
using distrib::FilePlan;

namespace {

auto story_of(const FilePlan& plan) -> std::string {
  std::string story;
  for (const auto& action : plan) {
    if (action.kind == FileAction::Kind::write) story += "write " + action.path;
    if (action.kind == FileAction::Kind::sync) story += "sync " + action.path;
    if (action.kind == FileAction::Kind::sync_directory) story += "sync directory " + action.path;
    if (action.kind == FileAction::Kind::rename) story += action.from + " -> " + action.path;
    if (action.kind == FileAction::Kind::remove) story += "remove " + action.path;
    story += '\n';
  }
  return story;
}

}  // namespace

TEST_CASE("the part file gets its name after its data file", "[checkpoint][part_writer]") {
  const support::Parts parts;
  Error error;
  CHECK(story_of(distrib::plan_part("d/c-7", parts.own[1], 1, 3, nullptr, error)) ==
        "write d/.saving.c.data-00001-of-00003\n"
        "sync d/.saving.c.data-00001-of-00003\n"
        "write d/.saving.c.part-00001-of-00003\n"
        "sync d/.saving.c.part-00001-of-00003\n"
        "remove d/c-7.index\n"
        "remove d/c-7.part-00001-of-00003\n"
        "sync directory d\n"
        "d/.saving.c.data-00001-of-00003 -> d/c-7.data-00001-of-00003\n"
        "sync directory d\n"
        "d/.saving.c.part-00001-of-00003 -> d/c-7.part-00001-of-00003\n"
        "sync directory d\n");
  CHECK_FALSE(error);
}

TEST_CASE("a part is never visible before it is complete", "[checkpoint][part_writer]") {
  const support::Parts old;
  const support::Parts parts{100};
  for (std::size_t performed = 0; performed <= 11; ++performed) {
    const support::TempDirectory directory;
    const std::string prefix = directory / "c-1";
    Error error;
    distrib::perform(distrib::plan_part(prefix, old.own[2], 2, 3, nullptr, error));
    const FilePlan plan = distrib::plan_part(prefix, parts.own[2], 2, 3, nullptr, error);
    REQUIRE(plan.size() == 11);
    distrib::perform(std::span{plan}.first(performed));
    CAPTURE(performed);
    const auto reader = BundleReader::open_part(prefix, 2, 3, error);
    CHECK(reader.has_value() == (performed < 6 || performed > 9));
    if (!reader) {
      CHECK(error.code == checkpoint_errc::not_found);
      continue;
    }
    std::vector<float> values(4);
    reader->verify();
    reader->read("v", parts.own[2].tensors[0].slice, std::as_writable_bytes(std::span{values}));
    CHECK(values[0] == (performed > 9 ? 108.0F : 8.0F));
  }
}

TEST_CASE("if the merged index holds the same bytes, only the data is written again", "[checkpoint][part_writer]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "c-1";
  const support::Parts parts;
  distrib::perform(distrib::plan_bundle(prefix, parts.together));
  const auto merged = BundleReader::open(prefix).index();
  Error error;

  // Shard 0 of a whole save has all that its part would have, at the same offsets.
  const FilePlan again = distrib::plan_part(prefix, parts.own[0], 0, 3, &merged, error);
  CHECK(again.size() == 4);
  support::write_file(distrib::data_file_name(prefix, 0, 3), "damaged");
  distrib::perform(again);
  BundleReader::open(prefix).verify();

  const support::Parts others{100};
  BundlePart less = parts.own[0];
  less.strings.clear();
  BundlePart other_shape = parts.own[0];
  other_shape.tensors[0].shape = {8, 2};
  const struct {
    const char* what;
    BundlePart part;
    std::size_t shard;
    std::size_t shards;
  } cases[] = {
      {"other values", others.own[0], 0, 3}, {"less than the index lists", less, 0, 3},
      {"another shard", parts.own[0], 1, 3}, {"another number of shards", parts.own[0], 0, 4},
      {"another shape", other_shape, 0, 3},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const FilePlan plan = distrib::plan_part(prefix, c.part, c.shard, c.shards, &merged, error);
    CHECK_FALSE(error);
    CHECK_THAT(story_of(plan), ContainsSubstring("remove " + prefix + ".index"));
  }
}

TEST_CASE("a part that does not fit together is refused, naming the tensor", "[checkpoint][part_writer]") {
  const support::Parts parts;
  BundlePart twice = parts.own[0];
  twice.tensors.push_back(twice.tensors[0]);
  BundlePart overlapping = parts.own[0];
  overlapping.tensors.push_back(overlapping.tensors[0]);
  overlapping.tensors.back().slice = distrib::Slice::along(parts.shape, 0, 1, 2);
  BundlePart texts = parts.own[0];
  texts.strings.push_back({"t", {2}, {"one"}});
  const struct {
    const char* what;
    BundlePart part;
    std::size_t shard;
    checkpoint_errc expected;
    const char* where;
  } cases[] = {
      {"a slice twice", twice, 0, checkpoint_errc::duplicate, "v, slice 0,2:0,2"},
      {"slices that overlap", overlapping, 0, checkpoint_errc::duplicate, "v: slices overlap"},
      {"too few texts", texts, 0, checkpoint_errc::mismatch, "t: 1 texts for [2]"},
      {"a shard too many", parts.own[0], 3, checkpoint_errc::mismatch, "part 3 of 3"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Error error;
    CHECK(distrib::plan_part("c-1", c.part, c.shard, 3, nullptr, error).empty());
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
}
