// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/table_stream.hpp"

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using namespace distrib;

namespace {

/// Saves the cut of step 40 of a job with tables, on this many shards.
auto save_tables(const std::string& prefix, std::uint32_t shards) -> BundleReader {
  const Job job = cuts::with_tables(cuts::make_job(shards, 2));
  const auto saved = cuts::make_cuts(job, 40);
  std::vector<BundlePart> parts;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    parts.push_back(CutTensors{job, shard, cuts::updaters}.part(saved[shard]));
  perform(plan_bundle(prefix, parts));
  return BundleReader::open(prefix);
}

auto all_of(const BundleReader& reader, const tools::SavedTable& table, const std::string& block, std::size_t row_bytes,
            std::size_t portion, Error& error) -> std::vector<std::byte> {
  std::vector<std::byte> bytes(static_cast<std::size_t>(table.rows) * row_bytes);
  tools::TableStream stream{reader, table, block};
  for (std::span<std::byte> rest{bytes}; !rest.empty() && !error;) {
    const auto some = rest.first(std::min(rest.size(), portion * row_bytes));
    if (!stream.read(some, error)) return {};
    rest = rest.subspan(some.size());
  }
  return bytes;
}

}  // namespace

TEST_CASE("table_of: names of the tensors of a shard", "[tools]") {
  std::size_t shards = 0;
  CHECK(tools::table_of("a/b/shard-00001-of-00003/keys", shards) == "a/b");
  CHECK(shards == 3);
  CHECK(tools::table_of("t/shard-00000-of-00001/values/Momentum", shards) == "t");
  for (const char* other : {"t", "t/keys", "t/shard-", "t/shard-00000-of-", "t/shard-00000-of-00001",
                            "t/shard-00000-in-00001/keys", "t/shard-00000-of-0000x/keys", "t/shard-1-of-2/keys"})
    CHECK(tools::table_of(other, shards).empty());
}

TEST_CASE("TableStream: the same bytes whatever shards saved the table, in any portions", "[tools]") {
  const support::TempDirectory directory;
  std::vector<std::vector<std::byte>> expected;
  for (const std::uint32_t shards : {1U, 2U, 5U}) {
    CAPTURE(shards);
    const auto reader = save_tables(directory / std::to_string(shards), shards);
    Error error;
    const auto tables = tools::tables_in(reader, error);
    REQUIRE_FALSE(error);
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].name == "words");
    CHECK(tables[0].shards == shards);
    CHECK(tables[0].dim == 2);
    CHECK(tables[0].slots == std::vector<std::string>{"Momentum"});
    std::vector<std::vector<std::byte>> found;
    for (const std::size_t portion : {1U, 3U, 100U}) {
      found.clear();
      for (const char* block : {"keys", "uses", "values", "values/Momentum"})
        found.push_back(all_of(reader, tables[0], block, 8, portion, error));
      CHECK_FALSE(error);
      if (expected.empty()) expected = found;
      CHECK(found == expected);
    }
  }
  // values are a function of the key, see cuts::make_table
  for (std::size_t row = 0; row < expected[0].size() / 8; ++row) {
    const auto key = load_le<std::uint64_t>(expected[0].data() + 8 * row);
    if (row != 0) CHECK(key > load_le<std::uint64_t>(expected[0].data() + 8 * (row - 1)));
    const auto first = static_cast<float>(100 * (key % 99991) + 40);
    CHECK(load_le<float>(expected[2].data() + 8 * row) == first);
    CHECK(load_le<float>(expected[3].data() + 8 * row) == static_cast<float>(100 * (key % 99991) + 42));
    CHECK(load_le<std::uint32_t>(expected[1].data() + 8 * row) == key % 4001);
  }
}

TEST_CASE("tables_in and TableStream: a shard that is missing, tensors that do not fit, and damage are found",
          "[tools]") {
  const support::TempDirectory directory;
  auto reader = save_tables(directory / "t", 2);
  const std::vector<StoredTensor> all{reader.tensors().begin(), reader.tensors().end()};
  Error error;
  const auto tables = tools::tables_in(reader, error);
  std::vector<StoredTensor> some;
  for (const StoredTensor& tensor : all)
    if (tensor.name != "words/shard-00001-of-00002/uses") some.push_back(tensor);
  reader.set_tensors(some);
  CHECK(tools::tables_in(reader, error).empty());
  CHECK(error.code == checkpoint_errc::incomplete);
  CHECK_THAT(error.where, ContainsSubstring("words/shard-00001-of-00002"));
  some = all;
  for (StoredTensor& tensor : some)
    if (tensor.name == "words/shard-00001-of-00002/values") tensor.shape = {tensor.shape[0], 3};
  reader.set_tensors(some);
  error = {};
  CHECK(tools::tables_in(reader, error).empty());
  CHECK(error.code == checkpoint_errc::mismatch);

  // the second shard has the keys of the first one
  some = all;
  for (const char* block : {"keys", "uses", "values", "values/Momentum"}) {
    const std::string first = std::string{"words/shard-00000-of-00002/"} + block;
    for (StoredTensor& tensor : some)
      if (tensor.name == std::string{"words/shard-00001-of-00002/"} + block) {
        tensor = *std::ranges::find(all, first, &StoredTensor::name);
        tensor.name = std::string{"words/shard-00001-of-00002/"} + block;
      }
  }
  reader.set_tensors(some);
  error = {};
  auto doubled = tools::tables_in(reader, error);
  REQUIRE(doubled.size() == 1);
  CHECK(all_of(reader, doubled[0], "keys", 8, 100, error).empty());
  CHECK(error.code == checkpoint_errc::corrupt_data);
  CHECK_THAT(error.where, ContainsSubstring("is not greater than the key before it"));

  // a wrong byte among the uses of keys that are only counted, which are not exported
  reader.set_tensors(all);
  const auto& piece = reader.find("words/shard-00000-of-00002/uses")->pieces.front();
  std::fstream file{(directory / "t").string() + ".data-00000-of-00002",
                    std::ios::binary | std::ios::in | std::ios::out};
  file.seekp(static_cast<std::streamoff>(piece.offset + piece.size_bytes - 1));
  file.put('\x77');
  file.close();
  error = {};
  CHECK(all_of(reader, tables[0], "values", 8, 100, error).size() == tables[0].rows * 8);
  CHECK_FALSE(error);
  CHECK(all_of(reader, tables[0], "uses", 8, 100, error).empty());
  CHECK(error.code == checkpoint_errc::corrupt_data);
}
