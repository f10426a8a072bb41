// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/bundle_index.hpp>

#include <distrib/checkpoint/ordered_code.hpp>
#include <distrib/checkpoint/table_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <map>
#include <string>
#include <vector>

using distrib::BundleIndex;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::Shape;
using distrib::Slice;
using support::Bytes;
using support::from_hex;

namespace {

auto names_of(const BundleIndex& index) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& tensor : index.tensors) names.push_back(tensor.name);
  return names;
}

// Returns an index with these entries, keys and values in hex. The default header says one shard.
auto index_of(std::map<std::string, Bytes> entries, const std::string& header_hex = "08011a020801") -> Bytes {
  entries[""] = from_hex(header_hex);
  distrib::TableWriter table;
  for (const auto& [key, value] : entries) table.add(key, value);
  return table.finish();
}

auto parse(const Bytes& file, BundleIndex& index) -> Error {
  Error error;
  const bool whole = distrib::parse_bundle_index(file, index, error);
  CHECK(whole == !error);
  return error;
}

// Returns the entries of a float tensor of shape [10] that is stored in these slices.
auto sliced(const std::vector<Slice>& slices) -> std::map<std::string, Bytes> {
  distrib::detail::BundleEntry full{DType::float32, {10}, 0, 0, 0, 0, slices, {}};
  std::map<std::string, Bytes> entries{{"v", distrib::detail::encode_entry(full)}};
  for (const Slice& slice : slices) {
    const auto size = static_cast<std::uint64_t>(slice.extents.elements()) * 4;
    entries[distrib::slice_key("v", slice)] =
        distrib::detail::encode_entry({DType::float32, slice.extents, 0, 0, size, 1, {}, {}});
  }
  return entries;
}

}  // namespace

TEST_CASE("the index of a partitioned checkpoint of TensorFlow", "[checkpoint][bundle_index]") {
  BundleIndex index;
  const auto error = parse(support::read_file(support::fixtures + "partitioned/model.ckpt-1234.index"), index);
  REQUIRE_FALSE(error);
  CHECK(index.shards == 1);
  CHECK(names_of(index) == std::vector<std::string>{"bf16", "emb/table", "empty", "f64", "flag", "global_step", "i32",
                                                    "layer/scalar", "layer/w", "u8", "words"});
  const auto* table = index.find("emb/table");
  REQUIRE(table != nullptr);
  CHECK(table->dtype == DType::float32);
  CHECK(table->shape == Shape{10, 4});
  CHECK(table->slices() == std::vector<Slice>{{{0, 0}, {4, 4}}, {{4, 0}, {3, 4}}, {{7, 0}, {3, 4}}});
  CHECK(table->complete);
  CHECK(table->pieces[1].offset == 70);
  CHECK(table->pieces[1].size_bytes == 48);
  CHECK(index.find("bf16")->dtype == DType::bfloat16);
  CHECK(index.find("empty")->shape == Shape{0, 3});
  CHECK(index.find("words")->dtype == DType::string);
  CHECK(index.find("global_step")->shape == Shape{});
  CHECK(index.find("emb") == nullptr);
}

TEST_CASE("an index with blocks that TensorFlow compressed with Snappy", "[checkpoint][bundle_index]") {
  const Bytes file = from_hex(
      "646c00000608011a02080100010b61080112002804350638271f01010d32010f0420040d110c00010d6205112c0828043510fd78"
      "4f00010d6305111c0c280435efd682c315333c10280435efd682c300000000010000000103da3e1d000000000100000000c0f2a1"
      "b000010264005700000000010000000075f79c875c08690e00000000000000000000000000000000000000000000000000000000"
      "000000000000000057fb808b247547db");
  BundleIndex index;
  REQUIRE_FALSE(parse(file, index));
  CHECK(names_of(index) == std::vector<std::string>{"a", "a2", "b", "c", "c2"});
}

TEST_CASE("an index that is cut or has a flipped bit is refused, or says the same", "[checkpoint][bundle_index]") {
  Bytes file = support::read_file(support::fixtures + "partitioned/model.ckpt-1234.index");
  BundleIndex index;
  for (std::size_t size = 0; size < file.size(); ++size)
    REQUIRE(parse(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)), index).code ==
            distrib::failure::corrupt);
  for (std::byte& byte : file) {
    byte ^= std::byte{32};
    const Error error = parse(file, index);
    REQUIRE((error || index.tensors.size() == 11));
    byte ^= std::byte{32};
  }
}

TEST_CASE("headers that are refused", "[checkpoint][bundle_index]") {
  const struct {
    const char* what;
    const char* hex;
    checkpoint_errc expected;
  } cases[] = {
      {"no data file", "1a020801", checkpoint_errc::corrupt_index},
      {"more data files than fit into their names", "08a08d06", checkpoint_errc::corrupt_index},
      {"not protobuf", "0b", checkpoint_errc::corrupt_index},
      {"not protobuf inside", "08011a010b", checkpoint_errc::corrupt_index},
      {"big-endian", "080110011a020801", checkpoint_errc::unsupported},
      {"only readers of version 2 and above", "08011a0408021002", checkpoint_errc::unsupported},
      {"no readers of version 1", "08011a0408021801", checkpoint_errc::unsupported},
      {"no readers of version 1, packed", "08011a0508021a0101", checkpoint_errc::unsupported},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    BundleIndex index;
    CHECK(parse(index_of({}, c.hex), index).code == c.expected);
  }
  BundleIndex index;
  CHECK_FALSE(parse(index_of({}, "08011a0408021001"), index));
  CHECK(index.tensors.empty());
}

TEST_CASE("entries that are refused", "[checkpoint][bundle_index]") {
  const struct {
    const char* what;
    const char* hex;
  } cases[] = {
      {"not protobuf", "ff"},
      {"the size does not fit the shape", "08011204120208022807"},
      {"the size fits another dtype", "08021204120208022808"},
      {"a shard that the header does not have", "0801120018012804"},
      {"unknown rank",
       "080112021801"
       "2804"},
      {"negative extent", "0801120d120b08ffffffffffffffffff01"},
      {"too many elements",
       "08011218"
       "120a0880808080808080804012"
       "0a088080808080808080"
       "40"},
      {"nine axes",
       "08011224"
       "120208011202080112020801120208011202080112020801120208011202080112020801"
       "2804"},
      {"a dtype that does not exist", "08800412002804"},
      {"more texts than bytes",
       "080712051203088008"
       "2804"},
      {"a slice without its entry",
       "0801120412020802"
       "3a040a021001"},
      {"a slice of another rank",
       "0801120412020802"
       "3a080a0210010a021001"},
      {"a slice outside",
       "0801120412020802"
       "3a060a0408021001"},
      {"a slice of negative length",
       "0801120412020802"
       "3a0d0a0b10feffffffffffffffff01"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    BundleIndex index;
    const Error error = parse(index_of({{"t", from_hex(c.hex)}}), index);
    CHECK(error.code == checkpoint_errc::corrupt_index);
    CHECK_THAT(error.where, ContainsSubstring("t"));
  }
}

TEST_CASE("slices of a tensor must not overlap, and may leave a hole", "[checkpoint][bundle_index]") {
  BundleIndex index;
  CHECK_FALSE(parse(index_of(sliced({{{0}, {4}}, {{4}, {6}}})), index));
  CHECK(index.find("v")->complete);

  CHECK_FALSE(parse(index_of(sliced({{{0}, {4}}, {{5}, {5}}})), index));
  CHECK_FALSE(index.find("v")->complete);

  Error error = parse(index_of(sliced({{{0}, {5}}, {{4}, {6}}})), index);
  CHECK(error.code == checkpoint_errc::corrupt_index);
  CHECK_THAT(error.where, ContainsSubstring("overlap"));

  error = parse(index_of(sliced({{{0}, {4}}, {{0}, {4}}, {{4}, {6}}})), index);
  CHECK(error.code == checkpoint_errc::corrupt_index);

  auto other = sliced({{{0}, {4}}, {{4}, {6}}});
  other[distrib::slice_key("v", Slice{{0}, {4}})] =
      distrib::detail::encode_entry({DType::int32, {4}, 0, 0, 16, 1, {}, {}});
  error = parse(index_of(other), index);
  CHECK(error.code == checkpoint_errc::corrupt_index);
  CHECK_THAT(error.where, ContainsSubstring("slice 0,4"));
}

TEST_CASE("slices cut along two axes", "[checkpoint][bundle_index]") {
  const auto tensor = [](std::vector<Slice> slices) {
    distrib::StoredTensor result{"v", DType::float32, {4, 6}, {}, true};
    for (const Slice& slice : slices) result.pieces.push_back({slice});
    return result;
  };
  const std::vector<Slice> tiles{{{0, 0}, {2, 3}}, {{0, 3}, {2, 3}}, {{2, 0}, {2, 2}}, {{2, 2}, {2, 4}}};
  CHECK_FALSE(distrib::detail::overlap(tensor(tiles)));
  CHECK(distrib::detail::covered(tensor(tiles)));
  auto shifted = tiles;
  shifted[3] = {{1, 2}, {2, 4}};
  CHECK(distrib::detail::overlap(tensor(shifted)));
  CHECK(distrib::detail::overlap(tensor({Slice::whole({4, 6}), Slice::whole({4, 6})})));
  // an empty slice overlaps nothing
  CHECK_FALSE(distrib::detail::overlap(tensor({{{0, 0}, {0, 6}}, {{0, 0}, {4, 6}}})));
}

TEST_CASE("a slice may omit the length of a whole axis", "[checkpoint][bundle_index]") {
  // [2,3] in rows: axis 0 of a slice has start and length, axis 1 has neither; the key has -1 as its length.
  std::map<std::string, Bytes> entries;
  entries["v"] = from_hex(
      "0801"
      "120812020802"
      "12020803"
      "3a060a0210010a00"
      "3a080a04080110010a00");
  for (const std::int64_t row : {0, 1}) {
    const std::int64_t starts[] = {row, 0};
    const std::int64_t lengths[] = {1, distrib::whole_axis};
    entries[distrib::slice_key("v", starts, lengths)] =
        distrib::detail::encode_entry({DType::float32, {1, 3}, 0, 12 * static_cast<std::uint64_t>(row), 12, 1, {}, {}});
  }
  BundleIndex index;
  const Error error = parse(index_of(entries), index);
  CAPTURE(error.where);
  REQUIRE_FALSE(error);
  CHECK(index.find("v")->slices() == std::vector<Slice>{{{0, 0}, {1, 3}}, {{1, 0}, {1, 3}}});
  CHECK(index.find("v")->complete);
}
