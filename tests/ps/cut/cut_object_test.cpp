// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/cut_object.hpp>

#include <distrib/checkpoint/error.hpp>

#include "ps/cut/object_parts.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

const CutKey key_of_parts{20, 0, 2, {1, 5}, 3};

// Two cuts of a step, and their tables.
struct TwoParts {
  TwoParts() {
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const auto object = object_parts::object(shard, 2, 7, 20);
      const CutTail tail = parse_cut_footer(object, object.size(), error);
      CutKey key = key_of_parts;
      key.shard = shard;
      cuts.push_back({key, object.size(), tail.table_crc});
      tables.push_back(parse_cut_table(object, tail, shard, 2, error));
      REQUIRE_FALSE(error);
    }
  }
  Error error;
  std::vector<CheckpointCut> cuts;
  std::vector<BundleIndex> tables;
};

auto footer_error(std::vector<std::byte> object, std::size_t at, int value) -> Error {
  object[object.size() - CutTail::footer_bytes + at] = static_cast<std::byte>(value);
  Error error;
  static_cast<void>(parse_cut_footer(object, object.size(), error));
  return error;
}

}  // namespace

TEST_CASE("A claim says who has the shard") {
  const ClaimOwner owner{"ps 0", "host", "123", "host:7000"};
  CHECK(parse_claim(encode_claim(owner)) == owner);
  CHECK(as_text(encode_claim(owner)) == "ps 0\nhost\n123\nhost:7000\n");
  CHECK(parse_claim(encode_claim({"a\nb", std::string(300, 'x'), "", ""})) ==
        ClaimOwner{"ab", std::string(256, 'x'), "", ""});
}

TEST_CASE("What is no claim is refused") {
  for (const std::string text : {"", "a\nb\nc\n", "a\nb\nc\nd", "a\nb\nc\nd\n\n"})
    CHECK_FALSE(parse_claim(as_bytes(text)));
  CHECK_FALSE(parse_claim(as_bytes(std::string(257, 'x') + "\n\n\n\n")));
}

TEST_CASE("The object of a cut has its data, its table and a footer") {
  const auto object = object_parts::object(1, 2, 7, 20);
  CHECK(load_le<std::int64_t>(object.data()) == 7);
  CHECK(load_le<std::int64_t>(object.data() + 8) == 20);
  Error error;
  const CutTail tail = parse_cut_footer(ByteView{object}.last(CutTail::footer_bytes), object.size(), error);
  REQUIRE_FALSE(error);
  CHECK(tail.table_offset == 16);
  CHECK(tail.table_bytes == object.size() - 16 - CutTail::footer_bytes);
  const auto end = ByteView{object}.last(static_cast<std::size_t>(tail.table_bytes) + CutTail::footer_bytes);
  const BundleIndex index = parse_cut_table(end, tail, 1, 2, error);
  REQUIRE_FALSE(error);
  REQUIRE(index.find("v") != nullptr);
  CHECK(index.find("v")->pieces.front().offset == 0);
}

TEST_CASE("A cut with tensors that do not fit is not encoded") {
  BundlePart part;
  part.tensors.push_back({"v", DType::int64, Shape{1}, Slice::whole(Shape{1}), {}});
  Error error;
  CHECK(encode_cut_object(part, 0, 1, error).empty());
  CHECK(error.code == checkpoint_errc::mismatch);
  CHECK(encode_cut_object({}, 1, 1, error).empty());
  CHECK(error.code == checkpoint_errc::mismatch);
}

TEST_CASE("A damaged footer of a cut is refused") {
  const auto object = object_parts::object(0, 2, 7, 20);
  CHECK(footer_error(object, 23, 0).code == checkpoint_errc::corrupt_data);  // magic number
  CHECK(footer_error(object, 12, 1).code == checkpoint_errc::corrupt_data);  // must be zero
  CHECK(footer_error(object, 7, 1).code == checkpoint_errc::corrupt_data);  // a table outside
  Error error;
  static_cast<void>(parse_cut_footer(ByteView{object}.last(23), object.size(), error));
  CHECK(error.code == checkpoint_errc::corrupt_data);
  static_cast<void>(parse_cut_footer(object, object.size() - 1, error));
  CHECK(error.code == checkpoint_errc::corrupt_data);
}

TEST_CASE("A damaged or foreign table of a cut is refused") {
  auto object = object_parts::object(0, 2, 7, 20);
  Error error;
  CutTail tail = parse_cut_footer(object, object.size(), error);
  const auto code = [&](std::uint32_t shard, std::uint32_t shards) {
    static_cast<void>(parse_cut_table(object, tail, shard, shards, error));
    return error.code;
  };
  CHECK_FALSE(code(0, 2));
  CHECK(code(0, 3) == checkpoint_errc::corrupt_data);
  CHECK(code(1, 2) == checkpoint_errc::corrupt_data);
  static_cast<void>(parse_cut_table(ByteView{object}.last(30), tail, 0, 2, error));
  CHECK(error.code == checkpoint_errc::corrupt_data);
  object[18] ^= std::byte{1};
  CHECK(code(0, 2) == checkpoint_errc::corrupt_data);
  object[18] ^= std::byte{1};
  object.erase(object.begin());  // less data than the table names
  tail = {tail.table_offset - 1, tail.table_bytes, tail.table_crc};
  CHECK(code(0, 2) == checkpoint_errc::corrupt_data);
}

TEST_CASE("An index is TensorFlow's, and names its cuts") {
  TwoParts two;
  const auto index = encode_checkpoint_index(two.cuts, two.tables, two.error);
  REQUIRE_FALSE(two.error);
  BundleIndex read;
  REQUIRE(parse_bundle_index(index, read, two.error));
  CHECK(read.shards == 2);
  CHECK(read.find("v")->complete);
  CHECK(parse_checkpoint_index(index, two.error) == two.cuts);
  CHECK(checkpoint_hash(index) == checkpoint_hash(encode_checkpoint_index(two.cuts, two.tables, two.error)));
  std::swap(two.cuts[0].bytes, two.cuts[0].key.step);
  CHECK(checkpoint_hash(index) != checkpoint_hash(encode_checkpoint_index(two.cuts, two.tables, two.error)));
}

TEST_CASE("An index of cuts that do not belong together is refused") {
  TwoParts two;
  const auto code = [&](const std::vector<CheckpointCut>& cuts) {
    Error error;
    const auto index = encode_checkpoint_index(cuts, two.tables, error);
    REQUIRE_FALSE(error);
    CHECK(parse_checkpoint_index(index, error).empty());
    return error.code;
  };
  CHECK(code({}) == checkpoint_errc::corrupt_index);
  CHECK(code({two.cuts[0]}) == checkpoint_errc::corrupt_index);
  CHECK(code({two.cuts[1], two.cuts[0]}) == checkpoint_errc::corrupt_index);
  auto other = two.cuts;
  other[1].key.step = 21;
  CHECK(code(other) == checkpoint_errc::corrupt_index);
  other = two.cuts;
  other[0].key.number = 2;
  other[0].key.links = 1;
  CHECK(code(other) == checkpoint_errc::corrupt_index);
  other = two.cuts;
  other[0].key.shards = 3;
  CHECK(code(other) == checkpoint_errc::corrupt_index);
  Error error;
  CHECK(parse_checkpoint_index(as_bytes("not an index"), error).empty());
  CHECK(error.code == checkpoint_errc::corrupt_index);
}
