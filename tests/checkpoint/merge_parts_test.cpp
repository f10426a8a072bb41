// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/merge_parts.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/part_writer.hpp>

#include "checkpoint/parts.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <string>
#include <vector>

using distrib::BundleIndex;
using distrib::BundlePart;
using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::FilePlan;
using distrib::Slice;

namespace {

void save_parts(const std::string& prefix, const std::vector<BundlePart>& parts) {
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    Error error;
    distrib::perform(distrib::plan_part(prefix, parts[shard], shard, parts.size(), nullptr, error));
    REQUIRE_FALSE(error);
  }
}

auto indexes(const std::string& prefix, std::size_t shards) -> std::vector<BundleIndex> {
  Error error;
  auto parts = distrib::read_parts(prefix, shards, error);
  REQUIRE_FALSE(error);
  return parts;
}

}  // namespace

TEST_CASE("the merged index has the bytes of a whole save", "[checkpoint][merge_parts]") {
  const support::TempDirectory directory;
  const support::Parts parts;
  const std::string whole = directory / "c-1";
  const std::string apart = directory / "c-2";
  distrib::perform(distrib::plan_bundle(whole, parts.together));
  save_parts(apart, parts.own);
  Error error;
  distrib::perform(distrib::plan_merge(apart, indexes(apart, 3), "00000-of-00003", error));
  CHECK(support::read_file(apart + ".index") == support::read_file(whole + ".index"));
  const auto reader = BundleReader::open(apart);
  reader.verify();
  std::vector<float> values(12);
  reader.read("v", Slice::whole(parts.shape), std::as_writable_bytes(std::span{values}));
  CHECK(values == parts.values);
  CHECK(reader.read_strings("job").front() == "the job's text");
}

TEST_CASE("two tasks may merge at the same time", "[checkpoint][merge_parts]") {
  const support::Parts parts;
  // Every order in which the four actions of one plan can be mixed with the four of the other.
  for (unsigned order = 0; order < 256; ++order) {
    if (__builtin_popcount(order) != 4) continue;
    const support::TempDirectory directory;
    const std::string prefix = directory / "c-1";
    save_parts(prefix, parts.own);
    Error error;
    const FilePlan plans[] = {distrib::plan_merge(prefix, indexes(prefix, 3), "a", error),
                              distrib::plan_merge(prefix, indexes(prefix, 3), "b", error)};
    std::size_t done[] = {0, 0};
    for (unsigned turn = 0; turn < 8; ++turn) {
      const unsigned who = order >> turn & 1;
      distrib::perform(std::span{plans[who]}.subspan(done[who]++, 1));
      if (std::filesystem::exists(prefix + ".index")) BundleReader::open(prefix).verify();
    }
    CHECK(std::filesystem::exists(prefix + ".index"));
    for (const auto& file : std::filesystem::directory_iterator{directory.path()})
      CHECK(file.path().filename().string().find(".saving") == std::string::npos);
  }
}

TEST_CASE("parts that do not fit together are refused, naming the tensor", "[checkpoint][merge_parts]") {
  const support::Parts parts;
  const std::vector<std::int64_t> later{50};
  const std::vector<float> one{1};
  const auto changed = [&](std::size_t shard, auto change) {
    std::vector<BundlePart> list = parts.own;
    change(list[shard]);
    return list;
  };
  const struct {
    const char* what;
    std::vector<BundlePart> parts;
    checkpoint_errc expected;
    const char* where;
  } cases[] = {
      {"another step", changed(1, [&](BundlePart& p) { p.tensors[2] = support::whole("step", {}, later); }),
       checkpoint_errc::mismatch, "step: two parts disagree"},
      {"another text", changed(2, [](BundlePart& p) { p.strings[0].values = {"another"}; }), checkpoint_errc::mismatch,
       "job: two parts disagree"},
      {"another dtype", changed(2, [](BundlePart& p) { p.tensors[0].dtype = DType::int32; }), checkpoint_errc::mismatch,
       "v: two slices disagree"},
      {"a hole", changed(1, [](BundlePart& p) { p.tensors.erase(p.tensors.begin()); }), checkpoint_errc::incomplete,
       "v"},
      {"a slice twice", changed(1, [&](BundlePart& p) { p.tensors[0] = parts.own[0].tensors[0]; }),
       checkpoint_errc::duplicate, "v, slice 0,2:0,2"},
      {"slices that overlap", changed(1, [&](BundlePart& p) { p.tensors[0].slice = Slice::along({6, 2}, 0, 1, 2); }),
       checkpoint_errc::duplicate, "v: slices overlap"},
      {"slices, and the whole tensor", changed(1, [&](BundlePart& p) { p.tensors[0] = support::whole("v", {1}, one); }),
       checkpoint_errc::duplicate, "v"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const support::TempDirectory directory;
    const std::string prefix = directory / "c-1";
    save_parts(prefix, c.parts);
    Error error;
    CHECK(distrib::plan_merge(prefix, indexes(prefix, 3), "", error).empty());
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring(prefix + ": " + c.where));
  }
}

TEST_CASE("read_parts names a part that is missing, damaged or of another shard", "[checkpoint][merge_parts]") {
  const support::Parts parts;
  const auto read = [&](auto change) {
    const support::TempDirectory directory;
    const std::string prefix = directory / "c-1";
    save_parts(prefix, parts.own);
    change(prefix);
    Error error;
    CHECK(distrib::read_parts(prefix, 3, error).empty());
    return error;
  };
  const Error missing =
      read([](const std::string& prefix) { std::filesystem::remove(prefix + ".part-00001-of-00003"); });
  CHECK(missing.code == checkpoint_errc::not_found);
  CHECK_THAT(missing.where, ContainsSubstring("c-1.part-00001-of-00003"));
  const Error no_data =
      read([](const std::string& prefix) { std::filesystem::remove(prefix + ".data-00002-of-00003"); });
  CHECK(no_data.code == checkpoint_errc::missing_data_file);
  const Error cut = read([](const std::string& prefix) { support::write_file(prefix + ".data-00002-of-00003", "x"); });
  CHECK(cut.code == checkpoint_errc::corrupt_data);
  const Error noise =
      read([](const std::string& prefix) { support::write_file(prefix + ".part-00000-of-00003", "x"); });
  CHECK(noise.code == distrib::failure::corrupt);
  CHECK_THAT(noise.where, ContainsSubstring("c-1.part-00000-of-00003"));
  const Error other = read([](const std::string& prefix) {
    std::filesystem::copy_file(prefix + ".part-00001-of-00003", prefix + ".part-00000-of-00003",
                               std::filesystem::copy_options::overwrite_existing);
  });
  CHECK(other.code == checkpoint_errc::corrupt_index);
  CHECK_THAT(other.where, ContainsSubstring("another shard"));
}
