// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/table_reader.hpp>

#include <distrib/checkpoint/table_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/table_around.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

using distrib::checkpoint_errc;
using distrib::Error;
using support::Bytes;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

auto table_of(const Entries& entries, std::size_t block_bytes) -> Bytes {
  distrib::TableWriter table{block_bytes};
  for (const auto& [key, value] : entries) table.add(key, distrib::as_bytes(value));
  return table.finish();
}

auto entries_of(const Bytes& file, Error& error, distrib::BlockKind expected = distrib::BlockKind::plain) -> Entries {
  Entries entries;
  const auto add = [&](std::string_view key, distrib::ByteView value) {
    entries.emplace_back(key, distrib::as_text(value));
    return true;
  };
  distrib::BlockKind kind{};
  const bool whole = distrib::read_table(file, add, kind, error);
  CHECK(whole == !error);
  if (whole) CHECK(kind == expected);
  return entries;
}

auto some_entries(int count) -> Entries {
  std::map<std::string, std::string> sorted{{"", "header"}};
  for (int i = 0; i < count; ++i)
    sorted["layer" + std::to_string(i % 7) + "/variable" + std::to_string(i)] = std::to_string(i * i);
  return {sorted.begin(), sorted.end()};
}

}  // namespace

TEST_CASE("what TableWriter wrote is read back, in one block and in many", "[checkpoint][table_reader]") {
  for (const int count : {0, 1, 15, 16, 17, 500})
    for (const std::size_t block_bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1000}, std::size_t{262144}}) {
      const Entries entries = some_entries(count);
      Error error;
      CHECK(entries_of(table_of(entries, block_bytes), error) == entries);
      CHECK_FALSE(error);
    }
}

TEST_CASE("a table cut anywhere is refused", "[checkpoint][table_reader]") {
  const Bytes file = table_of(some_entries(40), 100);
  for (std::size_t size = 0; size < file.size(); ++size) {
    Error error;
    entries_of(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)), error);
    CAPTURE(size);
    REQUIRE(error.code == distrib::failure::corrupt);
  }
}

TEST_CASE("a flipped bit is found, or lies in bytes without effect", "[checkpoint][table_reader]") {
  const Entries entries = some_entries(40);
  Bytes file = table_of(entries, 100);
  for (std::size_t at = 0; at < file.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::byte kept = file[at];
      file[at] ^= std::byte{1} << bit;
      Error error;
      const Entries found = entries_of(file, error);
      CAPTURE(at, bit);
      REQUIRE((error || found == entries));
      file[at] = kept;
    }
}

TEST_CASE("damage under valid checksums is found", "[checkpoint][table_reader]") {
  const struct {
    const char* what;
    std::string block;
    std::uint8_t kind;
    checkpoint_errc expected;
  } cases[] = {
      {"no restarts", "0000", 0, checkpoint_errc::corrupt_index},
      {"more restarts than bytes", "ffffffff", 0, checkpoint_errc::corrupt_index},
      {"shares more than there is",
       "010101"
       "6161"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"key beyond the block",
       "000901"
       "6161"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"value beyond the block",
       "000109"
       "6161"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"varint cut",
       "00ff"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"keys descend",
       "000100"
       "62"
       "000100"
       "61"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"a key twice",
       "000100"
       "61"
       "000100"
       "61"
       "0000000001000000",
       0, checkpoint_errc::corrupt_index},
      {"damaged Snappy", "ff", 1, checkpoint_errc::corrupt_index},
      {"unknown compression", "0000000001000000", 2, checkpoint_errc::unsupported},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    Error error;
    entries_of(support::table_around(support::from_hex(c.block), c.kind), error);
    CHECK(error.code == c.expected);
    CHECK_THAT(error.where, ContainsSubstring("block at 0"));
  }
}

TEST_CASE("short entries cannot repeat a long key without end", "[checkpoint][table_reader]") {
  distrib::WireWriter block;  // a key of 60000 bytes, then 20000 keys that add one byte to it
  block.raw_varint(0), block.raw_varint(60'000), block.raw_varint(0);
  block.raw(Bytes(60'000, std::byte{'a'}));
  for (std::size_t i = 0; i < 20'000; ++i)
    block.raw_varint(60'000 + i), block.raw_varint(1), block.raw_varint(0), block.raw_number(std::uint8_t{'a'});
  block.raw_number(std::uint32_t{0}), block.raw_number(std::uint32_t{1});
  Error error;
  const Bytes file = support::table_around(block.view());
  std::size_t bytes = 0;
  distrib::BlockKind kind{};
  CHECK_FALSE(distrib::read_table(
      file, [&](std::string_view key, distrib::ByteView) { return bytes += key.size(), true; }, kind, error));
  CHECK(error.code == checkpoint_errc::corrupt_index);
  CHECK(bytes <= 64 * file.size());
}

TEST_CASE("visit may stop the reading with its own error", "[checkpoint][table_reader]") {
  const Bytes file = table_of(some_entries(20), 50);
  Error error;
  int seen = 0;
  const auto stop = [&](std::string_view, distrib::ByteView) {
    if (++seen < 3) return true;
    error = {checkpoint_errc::unsupported, "mine"};
    return false;
  };
  distrib::BlockKind kind{};
  CHECK_FALSE(distrib::read_table(file, stop, kind, error));
  CHECK(seen == 3);
  CHECK(error.where == "mine");
}

TEST_CASE("a wrong magic number is reported as such", "[checkpoint][table_reader]") {
  Error error;
  entries_of(Bytes(48), error);
  CHECK(error.code == checkpoint_errc::bad_magic);
}
