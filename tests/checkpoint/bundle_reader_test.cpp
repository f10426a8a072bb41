// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/bundle_reader.hpp>

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/checkpoint/ordered_code.hpp>
#include <distrib/checkpoint/part_writer.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/checkpoint/table_writer.hpp>
#include <distrib/core/crc32c.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using distrib::BundlePart;
using distrib::BundleReader;
using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::Shape;
using distrib::Slice;

namespace {

const std::string partitioned = support::fixtures + "partitioned/model.ckpt-1234";

template <class T>
auto values_of(const BundleReader& reader, const std::string& name, const Slice& slice) -> std::vector<T> {
  std::vector<T> values(static_cast<std::size_t>(slice.extents.elements()));
  reader.read(name, slice, std::as_writable_bytes(std::span{values}));
  return values;
}

template <class T>
auto values_of(const BundleReader& reader, const std::string& name) -> std::vector<T> {
  const auto* tensor = reader.find(name);
  REQUIRE(tensor != nullptr);
  return values_of<T>(reader, name, Slice::whole(tensor->shape));
}

// A tensor of [7,5] with the values 0, 1, 2, ..., in slices cut along both axes, in two files.
const Shape shape{7, 5};
const std::vector<float> counted = [] {
  std::vector<float> values(35);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}();
const std::vector<Slice> tiles{{{0, 0}, {3, 2}}, {{0, 2}, {3, 3}}, {{3, 0}, {4, 4}}, {{3, 4}, {4, 1}}};

auto part_of(const Slice& slice) -> std::vector<float> {
  std::vector<float> values(static_cast<std::size_t>(slice.extents.elements()));
  distrib::detail::copy_overlap(Slice::whole(shape), std::as_bytes(std::span{counted}).data(), slice,
                                std::as_writable_bytes(std::span{values}).data(), sizeof(float));
  return values;
}

struct Saved {
  explicit Saved(const std::string& to) : prefix{to} {
    std::vector<BundlePart> parts(2);
    for (const Slice& tile : tiles) bytes.push_back(part_of(tile));
    for (std::size_t i = 0; i < tiles.size(); ++i)
      parts[i % 2].tensors.push_back({"tiles", DType::float32, shape, tiles[i], support::bytes_of(bytes[i])});
    parts[1].tensors.push_back(support::whole("plain", shape, counted));
    parts[0].strings.push_back({"job", {}, {"the job's text"}});
    parts[1].strings.push_back({"words", {2, 2}, {"a", "", "ccc", std::string(500, 'd')}});
    distrib::perform(distrib::plan_bundle(prefix, parts));
  }
  std::string prefix;
  std::vector<std::vector<float>> bytes;
};

}  // namespace

TEST_CASE("a partitioned checkpoint of TensorFlow is read", "[checkpoint][bundle_reader]") {
  const auto reader = BundleReader::open(partitioned);
  reader.verify();
  CHECK(reader.prefix() == partitioned);
  CHECK(reader.tensors().size() == 11);

  const auto table = values_of<float>(reader, "emb/table");
  for (std::size_t i = 0; i < 40; ++i) CHECK(table[i] == 0.125f * static_cast<float>(i));
  CHECK(values_of<float>(reader, "emb/table", {{3, 1}, {2, 2}}) == std::vector<float>{1.625f, 1.75f, 2.125f, 2.25f});
  CHECK(values_of<std::uint16_t>(reader, "bf16") == std::vector<std::uint16_t>{0x3f80, 0xc020, 0x4049});
  CHECK(values_of<float>(reader, "empty").empty());
  CHECK(values_of<double>(reader, "f64") == std::vector<double>{1e300, -1.5});
  CHECK(values_of<std::uint8_t>(reader, "flag") == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(values_of<std::int64_t>(reader, "global_step") == std::vector<std::int64_t>{1234});
  CHECK(values_of<std::int32_t>(reader, "i32") == std::vector<std::int32_t>{1, -2, 3, -4});
  CHECK(values_of<float>(reader, "layer/scalar") == std::vector<float>{3.5f});
  CHECK(values_of<float>(reader, "layer/w", {{2, 3}, {1, 1}}) == std::vector<float>{1.0f});
  CHECK(values_of<std::uint8_t>(reader, "u8") == std::vector<std::uint8_t>{0, 255});
  CHECK(reader.read_strings("words") == std::vector<std::string>{"alpha", "", {"\xff\0b", 3}});
}

TEST_CASE("an object-based checkpoint of TensorFlow 2 is read", "[checkpoint][bundle_reader]") {
  const auto reader = BundleReader::open(support::fixtures + "object/ckpt-1");
  reader.verify();
  CHECK(values_of<float>(reader, "w/.ATTRIBUTES/VARIABLE_VALUE") == std::vector<float>{1, 2, 3, 4});
  CHECK(values_of<std::int64_t>(reader, "step/.ATTRIBUTES/VARIABLE_VALUE") == std::vector<std::int64_t>{5});
  CHECK(reader.read_strings("_CHECKPOINTABLE_OBJECT_GRAPH").front().size() == 251);
}

TEST_CASE("every slice of a tensor can be read, however the tensor is stored", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  const auto reader = BundleReader::open(saved.prefix);
  reader.verify();
  for (const char* name : {"tiles", "plain"}) {
    CHECK(values_of<float>(reader, name) == counted);
    for (std::int64_t row = 0; row < 7; ++row)
      for (std::int64_t column = 0; column < 5; ++column)
        for (std::int64_t rows = 0; row + rows <= 7; ++rows)
          for (std::int64_t columns = 0; column + columns <= 5; ++columns) {
            const Slice wanted{{row, column}, {rows, columns}};
            REQUIRE(values_of<float>(reader, name, wanted) == part_of(wanted));
          }
  }
  CHECK(reader.read_strings("job") == std::vector<std::string>{"the job's text"});
  CHECK(reader.read_strings("words").back() == std::string(500, 'd'));
  CHECK(reader.find("words")->shape == Shape{2, 2});
  CHECK(reader.find("tiles")->slices().size() == 4);
}

TEST_CASE("read_rows passes some rows at a time", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Shape long_shape{300'000, 3};  // rows of 12 bytes, more than 1 MiB
  std::vector<std::uint32_t> values(900'000);
  std::iota(values.begin(), values.end(), 0U);
  const auto bytes = std::as_bytes(std::span{values});
  const std::vector<Slice> cut{{{200'000, 0}, {100'000, 3}}, {{0, 0}, {200'000, 3}}};
  std::vector<BundlePart> parts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto first = static_cast<std::size_t>(cut[i].start[0]) * 12;
    const auto size = static_cast<std::size_t>(cut[i].extents[0]) * 12;
    parts[i].tensors.push_back({"cut", DType::uint32, long_shape, cut[i], bytes.subspan(first, size)});
  }
  parts[0].tensors.push_back({"whole", DType::uint32, long_shape, Slice::whole(long_shape), bytes});
  distrib::perform(distrib::plan_bundle((directory / "c").string(), parts));
  const auto reader = BundleReader::open(directory / "c");
  for (const char* name : {"cut", "whole"})
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 300'000},
                                       {200'000, 100'000},
                                       {0, 1},
                                       {299'999, 1},
                                       {199'990, 20},
                                       {5, 200'000},
                                       {7, 0},
                                       {300'000, 0}}) {
      CAPTURE(name, first, count);
      std::vector<std::uint32_t> read(static_cast<std::size_t>(count) * 3);
      std::size_t rows = 0;
      Error error;
      const auto copy = [&](std::int64_t row, distrib::ByteView some) {
        CHECK(some.size() <= std::size_t{1} << 20);
        REQUIRE((some.size() % 12 == 0 && row >= first));
        rows += some.size() / 12;
        const auto to = std::as_writable_bytes(std::span{read}).subspan(static_cast<std::size_t>(row - first) * 12);
        std::copy(some.begin(), some.end(), to.begin());
      };
      reader.read_rows(name, first, count, copy, error);
      CHECK_FALSE(error);
      CHECK(rows == static_cast<std::size_t>(count));
      CHECK(std::equal(read.begin(), read.end(), values.begin() + first * 3));
    }
}

TEST_CASE("read_rows fails for rows that cannot be read", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  const auto reader = BundleReader::open(saved.prefix);
  const struct {
    const char* name;
    std::int64_t first;
    std::int64_t count;
    checkpoint_errc code;
    const char* where;
  } cases[] = {
      {"none", 0, 1, checkpoint_errc::not_found, "Key none"},
      {"plain", 0, 8, checkpoint_errc::mismatch, "plain: rows 0,8 of [7,5]"},
      {"plain", -1, 1, checkpoint_errc::mismatch, "plain: rows -1,1"},
      {"plain", 8, 0, checkpoint_errc::mismatch, "plain: rows 8,0"},
      {"plain", 0, -1, checkpoint_errc::mismatch, "plain: rows 0,-1"},
      {"tiles", 0, 1, checkpoint_errc::unsupported, "tiles: rows of slice 0,3:0,2"},
      {"words", 0, 1, checkpoint_errc::unsupported, "words: dtype"},
      {"job", 0, 1, checkpoint_errc::unsupported, "job: dtype"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.where);
    Error error;
    reader.read_rows(
        c.name, c.first, c.count, [](std::int64_t, distrib::ByteView) { FAIL("rows were passed"); }, error);
    CHECK(error.code == c.code);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }

  // A part alone: only its own rows can be read.
  const BundlePart part{
      {{"cut", DType::float32, {7, 5}, Slice::along({7, 5}, 0, 2, 3), support::bytes_of(counted).first(60)}}, {}};
  Error error;
  distrib::perform(distrib::plan_part((directory / "p").string(), part, 0, 2, nullptr, error));
  const auto alone = BundleReader::open_part(directory / "p", 0, 2, error);
  REQUIRE(alone);
  std::size_t rows = 0;
  const auto count = [&](std::int64_t, distrib::ByteView some) { rows += some.size() / 20; };
  alone->read_rows("cut", 2, 3, count, error);
  CHECK((!error && rows == 3));
  alone->read_rows("cut", 2, 2, count, error);
  CHECK(error.code == checkpoint_errc::incomplete);
}

TEST_CASE("read fails for unknown tensors, wrong slices, sizes and types", "[checkpoint][bundle_reader]") {
  const auto reader = BundleReader::open(partitioned);
  std::vector<std::byte> out(160);
  const struct {
    const char* name;
    Slice wanted;
    std::size_t bytes;
    checkpoint_errc expected;
    const char* where;
  } cases[] = {
      {"b", {}, 4, checkpoint_errc::not_found, "Key b"},
      {"emb/table", {{0, 0}, {11, 4}}, 160, checkpoint_errc::mismatch, "slice 0,11:0,4 of [10,4]"},
      {"emb/table", {{0}, {10}}, 40, checkpoint_errc::mismatch, "of [10,4]"},
      {"emb/table", {{0, 0}, {10, 4}}, 159, checkpoint_errc::mismatch, "159 bytes for [10,4] of float32"},
      {"words", {{0}, {3}}, 3, checkpoint_errc::unsupported, "dtype"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name, c.where);
    Error error;
    reader.read(c.name, c.wanted, std::span{out}.first(c.bytes), error);
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
    CHECK_THAT(error.where, ContainsSubstring(c.name));

    std::error_code ec;
    reader.read(c.name, c.wanted, std::span{out}.first(c.bytes), ec);
    CHECK(ec == c.expected);
  }
  CHECK_THROWS_WITH(reader.read("b", {}, out), ContainsSubstring("Key b: not found in checkpoint"));

  Error error;
  CHECK(reader.read_strings("none", error).empty());
  CHECK(error.code == checkpoint_errc::not_found);
  CHECK(reader.read_strings("i32", error).empty());
  CHECK(error.code == checkpoint_errc::mismatch);
  std::error_code ec;
  CHECK(reader.read_strings("i32", ec).empty());
  CHECK(ec == distrib::failure::mismatch);
  CHECK_THROWS_AS(reader.read_strings("i32"), std::system_error);
}

TEST_CASE("verify finds damage of any byte of the data", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  const auto reader = BundleReader::open(saved.prefix);
  for (const std::size_t shard : {std::size_t{0}, std::size_t{1}}) {
    const std::string file = distrib::data_file_name(saved.prefix, shard, 2);
    support::Bytes bytes = support::read_file(file);
    for (std::size_t at = 0; at < bytes.size(); at += 7) {
      bytes[at] ^= std::byte{16};
      support::write_file(file, bytes);
      Error error;
      reader.verify(error);
      REQUIRE(error.code == checkpoint_errc::corrupt_data);
      REQUIRE(error.where.find(file) == 0);
      bytes[at] ^= std::byte{16};
    }
    support::write_file(file, bytes);
  }
  std::error_code ec;
  reader.verify(ec);
  CHECK_FALSE(ec);
}

TEST_CASE("a damaged slice affects only what is read from it", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  const std::string file = distrib::data_file_name(saved.prefix, 0, 2);
  support::Bytes bytes = support::read_file(file);
  bytes[4] ^= std::byte{1};  // in the first tile
  support::write_file(file, bytes);
  const auto reader = BundleReader::open(saved.prefix);

  std::vector<std::byte> out(4);
  Error error;
  reader.read("tiles", {{0, 0}, {1, 1}}, out, error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
  CHECK_THAT(error.where, ContainsSubstring("tiles, slice 0,3:0,2, at 0"));
  CHECK(values_of<float>(reader, "tiles", {{3, 0}, {1, 1}}) == std::vector<float>{15});
  CHECK(values_of<float>(reader, "plain") == counted);

  bytes[4] ^= std::byte{1};
  bytes[bytes.size() - 1] ^= std::byte{1};  // in the text of the job
  support::write_file(file, bytes);
  CHECK(reader.read_strings("job", error).empty());
  CHECK(error.code == checkpoint_errc::corrupt_data);
}

TEST_CASE("open fails if files are missing, cut or not readable", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  const std::string index = distrib::index_file_name(saved.prefix);
  const std::string data = distrib::data_file_name(saved.prefix, 1, 2);
  const support::Bytes index_bytes = support::read_file(index);
  const support::Bytes data_bytes = support::read_file(data);
  const auto refused = [&](checkpoint_errc expected, const std::string& where) {
    Error error;
    CHECK_FALSE(BundleReader::open(saved.prefix, error));
    CHECK(error.code == expected);
    CHECK_THAT(error.where, ContainsSubstring(where));
    std::error_code ec;
    CHECK_FALSE(BundleReader::open(saved.prefix, ec));
    CHECK(ec == expected);
    CHECK_THROWS_AS(BundleReader::open(saved.prefix), std::system_error);
  };
  const auto already_open = BundleReader::open(saved.prefix);

  support::write_file(data, distrib::ByteView{data_bytes}.first(data_bytes.size() - 1));
  refused(checkpoint_errc::corrupt_data, data + " ends at");
  Error error;
  already_open.verify(error);  // the file was cut after it was opened
  CHECK(error.code == checkpoint_errc::corrupt_data);

  std::filesystem::remove(data);
  refused(checkpoint_errc::missing_data_file, data);
  already_open.verify(error);
  CHECK(error.code == checkpoint_errc::missing_data_file);

  std::filesystem::create_directory(data);
  refused(checkpoint_errc::cannot_read, data);
  std::filesystem::remove(data);
  REQUIRE(::mkfifo(data.c_str(), 0600) == 0);  // opening a pipe would wait for a process that writes
  refused(checkpoint_errc::cannot_read, data);
  std::filesystem::remove(data);
  support::write_file(data, data_bytes);

  support::write_file(index, distrib::ByteView{index_bytes}.first(index_bytes.size() / 2));
  refused(checkpoint_errc::bad_magic, index);
  support::write_file(index, "");
  refused(checkpoint_errc::corrupt_index, index);
  std::filesystem::remove(index);
  refused(checkpoint_errc::missing_index_file, index);
  for (const std::size_t shard : {std::size_t{0}, std::size_t{1}})
    std::filesystem::remove(distrib::data_file_name(saved.prefix, shard, 2));
  refused(checkpoint_errc::no_such_checkpoint, index);
}

TEST_CASE("open accepts the name of each file of a checkpoint", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "model.ckpt-9"};
  support::write_file(saved.prefix + ".meta", "a graph");
  for (const char* suffix : {"", ".index", ".data-00000-of-00002", ".data-00001-of-00002", ".meta"}) {
    const auto reader = BundleReader::open(saved.prefix + suffix);
    CHECK(reader.prefix() == saved.prefix);
    CHECK(values_of<float>(reader, "plain") == counted);
  }
  const Saved odd{directory / "odd.index"};  // a prefix that ends like a file name
  CHECK(BundleReader::open(odd.prefix).prefix() == odd.prefix);
  CHECK(BundleReader::open(odd.prefix + ".index").prefix() == odd.prefix);

  Error error;
  const auto refused = [&](const std::string& path) {
    CHECK_FALSE(BundleReader::open(path, error));
    return error.where;
  };
  CHECK(refused(directory / "none.index") == (directory / "none.index").string());
  CHECK(error.code == checkpoint_errc::no_such_checkpoint);
  CHECK(refused(directory / "none.meta") == (directory / "none.index").string());
  CHECK_THAT(
      refused(directory.path().string()),
      ContainsSubstring(": a directory; name a checkpoint in it, for example " + (directory / "model.ckpt-").string()));
  CHECK(error.code == checkpoint_errc::no_such_checkpoint);
  CHECK(refused(directory / "nowhere/c") == (directory / "nowhere/c.index").string());
}

TEST_CASE("the error names a checkpoint of version 1", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const support::Bytes table = support::read_file(partitioned + ".index");  // a table too, with other content
  support::write_file(directory / "one", table);
  support::write_file(directory / "one.meta", "a graph");
  support::write_file(directory / "cut-00001-of-00002", table);
  support::write_file(directory / "text", "some text, not a table");
  for (const char* name : {"one", "one.meta", "one.index", "cut"}) {
    CAPTURE(name);
    Error error;
    CHECK_FALSE(BundleReader::open(directory / name, error));
    CHECK(error.code == checkpoint_errc::unsupported);
    CHECK_THAT(error.where, ContainsSubstring(": a checkpoint of version 1; save it again with TensorFlow"));
  }
  for (const char* name : {"text", "cut-0000", "on"}) {
    CAPTURE(name);
    std::error_code ec;
    CHECK_FALSE(BundleReader::open(directory / name, ec));
    CHECK(ec == checkpoint_errc::no_such_checkpoint);
  }
}

TEST_CASE("verify checks tensors of types that cannot be read", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  std::filesystem::copy(support::fixtures + "iterator", directory.path());
  const std::string prefix = directory / "ckpt-1";
  const std::string iterator = "iterator/.ATTRIBUTES/ITERATOR_STATE";
  const auto reader = BundleReader::open(prefix);
  reader.verify();
  CHECK(reader.find(iterator)->type_name() == "variant");
  CHECK(values_of<float>(reader, "w/.ATTRIBUTES/VARIABLE_VALUE") == std::vector<float>{1, 2});
  Error error;
  reader.read(iterator, Slice::whole({11}), {}, error);
  CHECK(error.code == checkpoint_errc::unsupported);
  CHECK_THROWS_WITH(reader.verify("none"), ContainsSubstring("Key none"));

  const std::string file = distrib::data_file_name(prefix, 0, 1);
  support::Bytes bytes = support::read_file(file);
  for (std::size_t at = 0; at < bytes.size(); at += 101) {
    bytes[at] ^= std::byte{8};
    support::write_file(file, bytes);
    reader.verify(error);
    REQUIRE(error.code == checkpoint_errc::corrupt_data);
    reader.verify(iterator, error);
    REQUIRE((error.code == checkpoint_errc::corrupt_data) == (at < 0x8d7));
    bytes[at] ^= std::byte{8};
  }

  // An element of an unknown type may have any number of bytes.
  const std::string other = directory / "complex";
  const auto sum_of = [](std::string_view text) { return distrib::mask_crc(distrib::crc32c(distrib::as_bytes(text))); };
  distrib::TableWriter table;
  table.add("", distrib::detail::encode_header(1));
  table.add("c", distrib::detail::encode_entry({static_cast<DType>(8), {1}, 0, 0, 8, sum_of("12345678"), {}, {}}));
  table.add("few", distrib::detail::encode_entry({static_cast<DType>(99), {100}, 0, 0, 2, sum_of("12"), {}, {}}));
  table.add("w", distrib::detail::encode_entry({DType::float32, {2}, 0, 0, 8, sum_of("12345679"), {}, {}}));
  support::write_file(distrib::index_file_name(other), table.finish());
  support::write_file(distrib::data_file_name(other, 0, 1), "12345678");
  const auto unread = BundleReader::open(other);
  unread.verify("c");
  unread.verify("few");
  unread.verify(error);
  CHECK_THAT(error.where, ContainsSubstring("w, at 0"));
}

TEST_CASE("set_tensors replaces tensors and gives them other names", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const Saved saved{directory / "c-1"};
  auto reader = BundleReader::open(saved.prefix);
  auto tiles_again = *reader.find("tiles");
  auto plain = *reader.find("plain");
  tiles_again.name = "plain";
  plain.name = "a";
  reader.set_tensors({tiles_again, plain});
  CHECK(reader.tensors().size() == 2);
  CHECK(reader.find("tiles") == nullptr);
  CHECK(reader.find("plain")->pieces.size() == 4);
  for (const char* name : {"a", "plain"}) CHECK(values_of<float>(reader, name) == counted);
  reader.verify();
}

TEST_CASE("a tensor with a hole can be listed but not read", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "c-1";
  distrib::detail::BundleEntry full{DType::float32, {4}, 0, 0, 0, 0, {{{0}, {2}}}, {}};
  distrib::TableWriter table;
  table.add("", distrib::detail::encode_header(1));
  table.add(distrib::slice_key("v", full.slices.front()),
            distrib::detail::encode_entry({DType::float32, {2}, 0, 0, 8, distrib::mask_crc(0), {}, {}}));
  table.add("complex", distrib::detail::encode_entry({static_cast<DType>(8), {0}, 0, 0, 0, 0, {}, {}}));
  table.add("v", distrib::detail::encode_entry(full));
  support::write_file(distrib::index_file_name(prefix), table.finish());
  support::write_file(distrib::data_file_name(prefix, 0, 1), "12345678");

  const auto reader = BundleReader::open(prefix);
  std::vector<std::byte> out(16);
  Error error;
  reader.read("v", Slice::whole({4}), out, error);
  CHECK(error.code == checkpoint_errc::incomplete);
  reader.read("complex", Slice::whole({0}), {}, error);
  CHECK(error.code == checkpoint_errc::unsupported);
  reader.verify(error);
  CHECK(error);
  CHECK_THROWS_AS(reader.verify(), std::system_error);
}

TEST_CASE("open_part reads one part as a checkpoint of its own", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "c-1";
  const auto first = part_of(tiles[0]);
  const auto third = part_of(tiles[2]);
  const BundlePart part{{{"tiles", DType::float32, shape, tiles[0], support::bytes_of(first)},
                         {"tiles", DType::float32, shape, tiles[2], support::bytes_of(third)}},
                        {{"job", {}, {"text"}}}};
  Error error;
  distrib::perform(distrib::plan_part(prefix, part, 1, 2, nullptr, error));
  const auto reader = BundleReader::open_part(prefix, 1, 2, error);
  REQUIRE(reader);
  CHECK(values_of<float>(*reader, "tiles", tiles[2]) == third);
  CHECK(reader->read_strings("job").front() == "text");
  reader->verify();

  std::vector<float> out(35);
  reader->read("tiles", Slice::whole(shape), std::as_writable_bytes(std::span{out}), error);
  CHECK(error.code == checkpoint_errc::incomplete);
  CHECK_FALSE(BundleReader::open_part(prefix, 0, 2, error));
  CHECK(error.code == checkpoint_errc::not_found);
  CHECK_FALSE(BundleReader::open(prefix, error));

  support::write_file(distrib::data_file_name(prefix, 1, 2), std::string(200, 'x'));
  reader->verify(error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
}

TEST_CASE("open refuses an index with a piece outside its data file", "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const std::string prefix = directory / "c";
  support::write_file(distrib::data_file_name(prefix, 0, 1), "8 bytes.");
  const struct {
    std::uint64_t offset;
    std::uint64_t size;
    bool inside;
  } cases[] = {
      {0, 8, true}, {4, 4, true}, {5, 4, false}, {9, 4, false}, {std::uint64_t{1} << 40, 4, false}, {1, 8, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.offset, c.size);
    const Shape elements{static_cast<std::int64_t>(c.size / 4)};
    distrib::TableWriter table;
    table.add("", distrib::detail::encode_header(1));
    table.add("v", distrib::detail::encode_entry({DType::float32, elements, 0, c.offset, c.size, 1, {}, {}}));
    const support::Bytes index = table.finish();
    support::write_file(distrib::index_file_name(prefix), index);
    support::write_file(distrib::part_file_name(prefix, 0, 1), index);
    Error error;
    CHECK(BundleReader::open(prefix, error).has_value() == c.inside);
    CHECK(error.code == (c.inside ? std::error_code{} : make_error_code(checkpoint_errc::corrupt_data)));
    error = {};
    CHECK(BundleReader::open_part(prefix, 0, 1, error).has_value() == c.inside);
    CHECK(error.code == (c.inside ? std::error_code{} : make_error_code(checkpoint_errc::corrupt_data)));
  }
}

TEST_CASE("of_files reads pieces of any files, row-major or not, with and without checksums",
          "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  support::write_file(directory / "one", std::string{"--"} + std::string{distrib::as_text(support::bytes_of(counted))});
  support::write_file(directory / "two", distrib::as_text(support::bytes_of(counted)));
  using Piece = distrib::StoredTensor::Piece;
  const auto upper = Slice::along(shape, 0, 0, 3);
  const auto lower = Slice::along(shape, 0, 3, 4);
  const auto in_file = [](const Slice& slice, std::uint64_t file, std::uint64_t offset) {
    Piece piece{slice, file, offset, static_cast<std::uint64_t>(slice.extents.elements()) * 4};
    piece.checksum = distrib::StoredTensor::Checksum::none;
    return piece;
  };
  Piece columns = in_file(Slice::whole({5, 7}), 1, 0);
  columns.strides = {1, 5};
  distrib::StoredTensor halves{"joined", DType::float32, shape, {in_file(lower, 1, 60), in_file(upper, 0, 2)}, true};
  distrib::StoredTensor turned{"turned", DType::float32, {5, 7}, {columns}, true};
  auto reader = BundleReader::of_files("two files", {directory / "one", directory / "two"}, {turned, halves});
  CHECK(reader.prefix() == "two files");
  CHECK(reader.index().shards == 2);
  CHECK(values_of<float>(reader, "joined") == counted);
  for (std::int64_t first = 0; first < 7; ++first)
    for (std::int64_t count = 0; first + count <= 7; ++count) {
      const Slice rows = Slice::along(shape, 0, first, count);
      CHECK(values_of<float>(reader, "joined", rows) == part_of(rows));
      std::vector<float> streamed;
      Error error;
      const auto take = [&](std::int64_t row, distrib::ByteView bytes) {
        streamed.resize(static_cast<std::size_t>(count) * 5);
        std::memcpy(streamed.data() + (row - first) * 5, bytes.data(), bytes.size());
      };
      reader.read_rows("joined", first, count, take, error);
      CHECK_FALSE(error);
      CHECK(streamed == part_of(rows));
    }
  const auto all = values_of<float>(reader, "turned");
  for (std::size_t row = 0; row < 5; ++row)
    for (std::size_t column = 0; column < 7; ++column) CHECK(all[7 * row + column] == counted[5 * column + row]);
  CHECK(values_of<float>(reader, "turned", {{4, 1}, {1, 2}}) == std::vector{counted[9], counted[14]});
  reader.verify();

  std::filesystem::remove(directory / "two");
  Error error;
  reader.verify(error);
  CHECK(error.code == checkpoint_errc::missing_data_file);
  CHECK(error.where == (directory / "two").string());
}

TEST_CASE("stored_as: 16-bit numbers are read as float32, whole, in slices and by rows",
          "[checkpoint][bundle_reader]") {
  const support::TempDirectory directory;
  const std::vector<std::uint16_t> halves{0x3C00, 0xC000, 0x0001, 0x7C00, 0x3555, 0x0000};  // 1, -2, 2^-24, ...
  const std::vector<std::uint16_t> brains{0x3F80, 0xC000, 0x0001, 0x7F80, 0x3EAB, 0x0000};
  const Shape six{3, 2};
  std::vector<BundlePart> parts(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& bits = i == 0 ? halves : brains;
    const DType type = i == 0 ? DType::float16 : DType::bfloat16;
    const std::string name = i == 0 ? "half" : "brain";
    parts[0].tensors.push_back({name, type, six, Slice::along(six, 0, 0, 1), support::bytes_of(bits).first(4)});
    parts[1].tensors.push_back({name, type, six, Slice::along(six, 0, 1, 2), support::bytes_of(bits).subspan(4)});
  }
  distrib::perform(distrib::plan_bundle((directory / "c").string(), parts));
  auto reader = BundleReader::open(directory / "c");
  std::vector<distrib::StoredTensor> tensors{reader.tensors().begin(), reader.tensors().end()};
  for (auto& tensor : tensors) tensor.stored_as = std::exchange(tensor.dtype, DType::float32);
  reader.set_tensors(tensors);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> half{1, -2, 0x1p-24F, infinity, 0x1.554p-2F, 0};
  const std::vector<float> brain{1, -2, 0x1p-133F, infinity, 0x1.56p-2F, 0};
  for (const auto& [name, expected] : {std::pair{"half", half}, {"brain", brain}}) {
    CHECK(values_of<float>(reader, name) == expected);
    CHECK(values_of<float>(reader, name, {{1, 1}, {2, 1}}) == std::vector{expected[3], expected[5]});
    std::vector<float> rows(4);
    Error error;
    const auto take = [&](std::int64_t row, distrib::ByteView bytes) {
      std::memcpy(rows.data() + (row - 1) * 2, bytes.data(), bytes.size());
    };
    reader.read_rows(name, 1, 2, take, error);
    CHECK_FALSE(error);
    CHECK(rows == std::vector<float>(expected.begin() + 2, expected.end()));
  }
  std::vector<std::byte> too_few(12);
  Error error;
  reader.read("half", Slice::whole(six), too_few, error);
  CHECK(error.code == checkpoint_errc::mismatch);
}
