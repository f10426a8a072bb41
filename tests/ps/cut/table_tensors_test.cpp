// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/table_tensors.hpp>

#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "ps/cuts.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using cuts::make_keys;
using cuts::make_table;
using distrib::AnyUpdater;
using distrib::BundlePart;
using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::Shape;
using distrib::Slice;
using distrib::TableCut;
using distrib::TableInfo;
using distrib::TableShare;
using distrib::TableTensors;

namespace {

const TableInfo numbered{"ids", 3, 7};
const TableInfo any{"words", 2, 0};

// One table on a number of shards.
struct OneTable {
  OneTable(const TableInfo& info, std::uint32_t shards, AnyUpdater of = distrib::Adam{}) : updater{std::move(of)} {
    job.tables = {info};
    job.shards_per_task = shards;
  }
  auto share(std::uint32_t shard) const -> TableShare { return {job, 0, shard}; }
  auto tensors(std::uint32_t shard) const -> TableTensors { return {share(shard), updater, shard, job.shards()}; }
  auto cut(std::uint32_t shard, const cuts::Keys& keys) const -> TableCut {
    return make_table(share(shard), keys, updater.slots().size(), 40);
  }
  auto parts(const cuts::Keys& keys) {
    std::vector<BundlePart> list(job.shards());
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      kept.push_back(cut(shard, keys));
      tensors(shard).add_to(list[shard], kept.back());
    }
    return list;
  }
  auto save(const std::string& prefix, const cuts::Keys& keys = {}) -> BundleReader {
    distrib::perform(distrib::plan_bundle(prefix, parts(keys)));
    return BundleReader::open(prefix);
  }

  distrib::Job job;
  AnyUpdater updater;
  std::vector<TableCut> kept;
};

auto names_of(const BundleReader& reader) -> std::string {
  std::string names;
  for (const auto& tensor : reader.tensors())
    names += tensor.name + " " + std::string{name(tensor.dtype)} + to_string(tensor.shape) + " x" +
             std::to_string(tensor.pieces.size()) + "\n";
  return names;
}

template <class T>
auto values_of(const BundleReader& reader, const std::string& name) -> std::vector<T> {
  const Slice whole = Slice::whole(reader.find(name)->shape);
  std::vector<T> values(static_cast<std::size_t>(whole.extents.elements()));
  reader.read(name, whole, std::as_writable_bytes(std::span{values}));
  return values;
}

// Saves the table on 1, 2 and 3 shards, and reads each on 1, 2 and 3 shards.
void check_all_shards(const TableInfo& info, const cuts::Keys& keys, const AnyUpdater& updater) {
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    const support::TempDirectory directory;
    OneTable saved{info, shards, updater};
    const auto reader = saved.save(directory / "c", keys);
    reader.verify();
    for (const std::uint32_t other : {1U, 2U, 3U}) {
      const OneTable table{info, other, updater};
      for (std::uint32_t shard = 0; shard < other; ++shard) {
        CAPTURE(info.name, shards, other, shard, keys.with_row.size(), keys.counted.size());
        Error error;
        CHECK(cuts::same(table.tensors(shard).read(reader, error), table.cut(shard, keys)));
        CHECK_FALSE(error);
        const TableTensors tensors = table.tensors(shard);
        CHECK((other != shards || tensors.pieces_in(reader) == tensors.pieces()));
      }
    }
  }
}

}  // namespace

TEST_CASE("TableTensors: a table of numbered keys is stored as a partitioned variable and its slots",
          "[ps][table_tensors]") {
  const support::TempDirectory directory;
  const auto reader = OneTable{numbered, 3}.save(directory / "c");
  CHECK(names_of(reader) ==
        "ids float32[7,3] x3\n"
        "ids/Adam float32[7,3] x3\n"
        "ids/Adam_1 float32[7,3] x3\n");
  std::vector<float> weights;
  std::vector<float> second;
  for (std::size_t key = 0; key < 7; ++key)
    for (std::size_t i = 0; i < 3; ++i) {
      weights.push_back(static_cast<float>(100 * key + i + 40));
      second.push_back(weights.back() + 6);
    }
  CHECK(values_of<float>(reader, "ids") == weights);
  CHECK(values_of<float>(reader, "ids/Adam_1") == second);
}

TEST_CASE("TableTensors: for any keys each shard has tensors of its own", "[ps][table_tensors]") {
  const support::TempDirectory directory;
  OneTable table{any, 2};
  const cuts::Keys keys{{3, 5, 1ULL << 63, ~0ULL - 1}, {4, ~0ULL}};
  const auto reader = table.save(directory / "c", keys);
  std::uint32_t shard = 0;
  std::vector<std::uint64_t> found;
  for (const std::string of : {"words/shard-00000-of-00002", "words/shard-00001-of-00002"}) {
    const TableCut& cut = table.kept[shard++];
    const auto saved = values_of<std::uint64_t>(reader, of + "/keys");
    CHECK(std::equal(saved.begin(), saved.end(), cut.keys->as<std::uint64_t>().begin()));
    found.insert(found.end(), saved.begin(), saved.end());
    const auto uses = values_of<std::uint32_t>(reader, of + "/uses");
    REQUIRE(uses.size() == 2 * saved.size());
    CHECK(std::equal(uses.begin(), uses.end(), cut.uses->as<std::uint32_t>().begin()));
    const auto rows = cut.rows->as<float>();
    const auto weights = values_of<float>(reader, of + "/values");
    const auto first = values_of<float>(reader, of + "/values/Adam");
    REQUIRE(weights.size() == rows.size() / 3);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      CHECK(weights[i] == rows[i / 2 * 6 + i % 2]);
      CHECK(first[i] == rows[i / 2 * 6 + 2 + i % 2]);
    }
  }
  CHECK(found.size() == 6);
  CHECK(reader.find("words/shard-00000-of-00002/keys")->dtype == DType::int64);
  CHECK(reader.find("words/shard-00000-of-00002/uses")->dtype == DType::int32);
  CHECK(reader.tensors().size() == 2 * 5);
}

TEST_CASE("TableTensors: any number of shards can read what another number saved", "[ps][table_tensors]") {
  for (const AnyUpdater& updater : {AnyUpdater{distrib::Sgd{}}, AnyUpdater{distrib::Adam{}}}) {
    check_all_shards(numbered, {}, updater);
    check_all_shards({"few", 3, 2}, {}, updater);  // the third shard has no rows
    check_all_shards(any, make_keys(50, 3), updater);
    check_all_shards(any, make_keys(50, 0), updater);
    check_all_shards(any, make_keys(50, 1), updater);  // all keys are only counted
    check_all_shards(any, make_keys(1, 0), updater);
    check_all_shards(any, {}, updater);
  }
}

TEST_CASE("TableTensors: reads more rows than fit into one buffer", "[ps][table_tensors]") {
  check_all_shards({"ids", 5, 160'001}, {}, distrib::Momentum{});
  check_all_shards({"words", 9, 0}, make_keys(100'000, 10), distrib::Momentum{});
}

TEST_CASE("TableTensors: rows survive being saved by one number of shards after another", "[ps][table_tensors]") {
  const support::TempDirectory directory;
  const cuts::Keys keys = make_keys(100, 4);
  for (const TableInfo& info : {numbered, any}) {
    auto reader = OneTable{info, 1}.save(directory / "c-0", keys);
    for (const std::uint32_t shards : {2U, 3U, 1U}) {
      const OneTable table{info, shards};
      std::vector<TableCut> read;
      std::vector<BundlePart> parts(shards);
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        Error error;
        read.push_back(table.tensors(shard).read(reader, error));
        REQUIRE_FALSE(error);
        table.tensors(shard).add_to(parts[shard], read.back());
      }
      const std::string prefix = directory / ("c-" + std::to_string(shards));
      distrib::perform(distrib::plan_bundle(prefix, parts));
      reader = BundleReader::open(prefix);
    }
    Error error;
    CHECK(cuts::same(OneTable{info, 1}.tensors(0).read(reader, error), OneTable{info, 1}.cut(0, keys)));
  }
}

TEST_CASE("TableTensors: rows without slots are not copied", "[ps][table_tensors]") {
  for (const TableInfo& info : {numbered, any}) {
    OneTable plain{info, 1, distrib::Sgd{}};
    const auto parts = plain.parts(make_keys(9, 0));
    CHECK(parts[0].kept.empty());
    CHECK(parts[0].tensors.back().bytes.data() == plain.kept[0].rows->data());
    OneTable slots{info, 1, distrib::Adam{}};
    const auto with_slots = slots.parts(make_keys(9, 0));
    REQUIRE(with_slots[0].kept.size() == 1);
    CHECK(with_slots[0].kept[0]->size() == slots.kept[0].rows->size());
  }
}

TEST_CASE("TableTensors: a part can be read alone", "[ps][table_tensors]") {
  const support::TempDirectory directory;
  const cuts::Keys keys = make_keys(40, 3);
  for (const TableInfo& info : {numbered, any}) {
    const std::string prefix = directory / info.name;
    OneTable table{info, 3};
    const auto parts = table.parts(keys);
    Error error;
    distrib::perform(distrib::plan_part(prefix, parts[1], 1, 3, nullptr, error));
    const auto reader = BundleReader::open_part(prefix, 1, 3, error);
    REQUIRE(reader);
    CHECK(table.tensors(1).pieces_in(*reader) == table.tensors(1).pieces());
    CHECK(cuts::same(table.tensors(1).read(*reader, error), table.kept[1]));
    CHECK(table.tensors(0).pieces_in(*reader) == 0);
    static_cast<void>(table.tensors(0).read(*reader, error));
    CHECK(error.code == (info.any_key() ? checkpoint_errc::not_found : checkpoint_errc::incomplete));
    static_cast<void>(OneTable(info, 2).tensors(1).read(*reader, error));
    CHECK(error.code == (info.any_key() ? checkpoint_errc::not_found : checkpoint_errc::incomplete));
  }
}

TEST_CASE("TableTensors: tensors that do not belong to this table are refused by name", "[ps][table_tensors]") {
  const support::TempDirectory directory;
  const std::vector<std::byte> zeros(4096);
  // Replaces one tensor by another.
  const auto put = [&](std::vector<BundlePart>& parts, const std::string& name, DType dtype, const Shape& shape,
                       const std::string& as = {}) {
    for (BundlePart& part : parts)
      for (auto& piece : part.tensors)
        if (piece.name == name)
          piece = {as.empty() ? name : as, dtype, shape, Slice::whole(shape),
                   distrib::ByteView{zeros}.first(static_cast<std::size_t>(shape.elements()) * size_bytes(dtype))};
  };
  const auto put_keys = [](std::vector<BundlePart>& parts, std::size_t part, const std::vector<std::uint64_t>& keys) {
    parts[part].tensors[0].bytes = std::as_bytes(std::span{keys});
  };
  // Saved by 2 shards: 4 keys each, 3 of them with a row.
  const distrib::TableSharding sharding{any, 2};
  std::vector<std::uint64_t> own[2];
  for (std::uint64_t key = 0; own[0].size() < 4 || own[1].size() < 4; ++key)
    if (auto& some = own[sharding.shard(key)]; some.size() < 4) some.push_back(key);
  const auto first = [&](std::initializer_list<std::size_t> which) {
    std::vector<std::uint64_t> keys;
    for (const std::size_t i : which) keys.push_back(own[0][i]);
    return keys;
  };
  const std::vector<std::uint64_t> swapped = first({1, 0, 2, 3});
  const std::vector<std::uint64_t> equal = first({0, 1, 1, 3});
  const std::vector<std::uint64_t> twice = first({0, 1, 2, 1});
  std::vector<std::uint64_t> foreign = first({0, 1, 2, 3});
  foreign[3] = own[1][3];
  cuts::Keys keys;
  for (auto& some : own) {
    keys.with_row.insert(keys.with_row.end(), some.begin(), some.begin() + 3);
    keys.counted.push_back(some[3]);
  }
  std::sort(keys.with_row.begin(), keys.with_row.end());
  std::sort(keys.counted.begin(), keys.counted.end());

  using Parts = std::vector<BundlePart>;
  const std::string of = "words/shard-00000-of-00002";
  const struct {
    TableInfo info;
    std::function<void(Parts&)> change;
    checkpoint_errc code;
    std::string where;
  } cases[] = {
      {any, [&](Parts& p) { put(p, of + "/keys", DType::int64, {4}, "x"); }, checkpoint_errc::not_found, of + "/keys"},
      {any, [&](Parts& p) { put(p, of + "/uses", DType::int32, {4, 2}, "x"); }, checkpoint_errc::not_found,
       of + "/uses"},
      {any, [&](Parts& p) { put(p, of + "/values/Adam", DType::int32, {3, 2}, "x"); }, checkpoint_errc::not_found,
       of + "/values/Adam"},
      {any, [&](Parts& p) { put(p, of + "/keys", DType::int32, {4}); }, checkpoint_errc::mismatch,
       of + "/keys: it is int32[4]"},
      {any, [&](Parts& p) { put(p, of + "/keys", DType::int64, {2, 2}); }, checkpoint_errc::mismatch,
       of + "/keys: it is int64[2,2]"},
      {any, [&](Parts& p) { put(p, of + "/keys", DType::int64, {}); }, checkpoint_errc::mismatch,
       of + "/keys: it is int64[]"},
      {any, [&](Parts& p) { put(p, of + "/uses", DType::int32, {4, 3}); }, checkpoint_errc::mismatch,
       of + "/uses: it is int32[4,3]"},
      {any, [&](Parts& p) { put(p, of + "/values", DType::float32, {3, 3}); }, checkpoint_errc::mismatch,
       of + "/values: it is float32[3,3]"},
      {any, [&](Parts& p) { put(p, of + "/values/Adam_1", DType::int32, {3, 2}); }, checkpoint_errc::mismatch,
       of + "/values/Adam_1: it is int32[3,2]"},
      {any, [&](Parts& p) { put(p, of + "/uses", DType::int32, {3, 2}); }, checkpoint_errc::mismatch,
       of + ": 4 keys, 3 uses and 3 rows"},
      {any, [&](Parts& p) { put(p, of + "/values", DType::float32, {5, 2}); }, checkpoint_errc::mismatch,
       of + ": 4 keys, 4 uses and 5 rows"},
      {any, [&](Parts& p) { put(p, of + "/values/Adam", DType::float32, {2, 2}); }, checkpoint_errc::mismatch,
       of + "/values/Adam: 2 rows, not 3"},
      {any, [&](Parts& p) { put_keys(p, 0, swapped); }, checkpoint_errc::corrupt_data,
       of + "/keys: key " + std::to_string(own[0][0]) + " is not greater than the key before it"},
      {any, [&](Parts& p) { put_keys(p, 0, equal); }, checkpoint_errc::corrupt_data,
       of + "/keys: key " + std::to_string(own[0][1]) + " is not greater than the key before it"},
      {any, [&](Parts& p) { put_keys(p, 0, twice); }, checkpoint_errc::corrupt_data,
       of + "/keys: key " + std::to_string(own[0][1]) + " occurs twice"},
      {any, [&](Parts& p) { put_keys(p, 0, foreign); }, checkpoint_errc::corrupt_data,
       of + "/keys: key " + std::to_string(own[1][3]) + " belongs to another shard"},
      {any, [&](Parts& p) { p.resize(1025); }, checkpoint_errc::mismatch,
       "words: a table on 1025 shards, more than a table can have"},
      {{"ids", 3, 8}, [&](Parts&) {}, checkpoint_errc::mismatch, "ids: 7 rows, not 8"},
      {{"ids", 4, 7}, [&](Parts&) {}, checkpoint_errc::mismatch, "ids: it is float32[7,3]"},
      {{"other", 3, 7}, [&](Parts&) {}, checkpoint_errc::not_found, "Key other"},
      {numbered,
       [&](Parts& p) {
         for (auto& part : p) part.tensors.resize(2);
       },
       checkpoint_errc::not_found, "Key ids/Adam_1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.where);
    OneTable saved{c.info.any_key() ? any : numbered, 2};
    auto parts = saved.parts(keys);
    c.change(parts);
    distrib::perform(distrib::plan_bundle((directory / "c").string(), parts));
    const auto reader = BundleReader::open(directory / "c");
    for (const std::uint32_t shards : {1U, 2U}) {  // 1 shard reads all tensors; of 2 shards, shard 0 reads its own
      Error error;
      static_cast<void>(OneTable(c.info, shards).tensors(0).read(reader, error));
      CHECK(error.code == c.code);
      CHECK_THAT(error.where, ContainsSubstring((directory / "c").string() + ": ") && ContainsSubstring(c.where));
    }
  }
}

TEST_CASE("TableTensors: data that the files do not contain takes no memory", "[ps][table_tensors]") {
  // A tensor of 2^40 keys; only two of them are stored.
  const support::TempDirectory directory;
  OneTable table{any, 1};
  auto parts = table.parts(make_keys(2, 0));
  const Shape huge{std::int64_t{1} << 40};
  parts[0].tensors[0].shape = huge;
  parts[0].tensors[0].slice = Slice::along(huge, 0, 0, 2);
  Error error;
  distrib::perform(distrib::plan_part((directory / "c").string(), parts[0], 0, 1, nullptr, error));
  const auto reader = BundleReader::open_part(directory / "c", 0, 1, error);
  REQUIRE(reader);
  CHECK(table.tensors(0).pieces_in(*reader) == table.tensors(0).pieces() - 1);
  static_cast<void>(table.tensors(0).read(*reader, error));
  CHECK(error.code == checkpoint_errc::incomplete);
  CHECK_THAT(error.where, ContainsSubstring("/keys: [1099511627776]"));
}

TEST_CASE("TableTensors: damaged rows are found", "[ps][table_tensors]") {
  const support::TempDirectory directory;
  for (const TableInfo& info : {numbered, any})
    for (const std::uint32_t shards : {1U, 2U}) {
      OneTable{info, 2}.save(directory / "c", make_keys(30, 3));
      cuts::damage((directory / "c.data-00000-of-00002").string());
      const auto reader = BundleReader::open(directory / "c");
      Error error;
      static_cast<void>(OneTable(info, shards).tensors(0).read(reader, error));
      CHECK(error.code == checkpoint_errc::corrupt_data);
      CHECK_THAT(error.where, ContainsSubstring("c.data-00000-of-00002") && ContainsSubstring(info.name));
    }
}
