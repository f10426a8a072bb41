// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_item.hpp>

#include "support/catch.hpp"

#include <distrib/core/protowire.hpp>
#include <distrib/stream_log/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

auto bytes_of_item(const distrib::StreamItem& item) -> std::vector<std::byte> {
  std::vector<std::byte> bytes;
  distrib::append_stream_item(item, bytes);
  return bytes;
}

auto parsed_item(const std::vector<std::byte>& bytes) -> std::optional<distrib::StreamItem> {
  std::error_code code;
  auto item = distrib::parse_stream_item(bytes, code);
  CHECK(item.has_value() != static_cast<bool>(code));
  return item;
}

}  // namespace

TEST_CASE("items of a stream log are read as they were written") {
  const distrib::StreamItem items[] = {
      distrib::StreamRange{"events-7", 3, 9, {1, 2}, {UINT64_MAX, 4}},
      distrib::StreamRange{"events-7", 3, 9, {1, 2}, {3, 4}, "\"etag\""},
      distrib::StreamRange{"topic/3", 3, 9, {1, 2}, {3, 4}, "", 100, 120},
      distrib::StreamRanks{5, {0, 2, 70'000}},
      distrib::StreamEnd{},
  };
  for (const distrib::StreamItem& item : items) CHECK(parsed_item(bytes_of_item(item)) == item);
}

TEST_CASE("a damaged item of a stream log is refused") {
  const std::vector<std::byte> bytes = bytes_of_item(distrib::StreamRange{"events", 0, 4, {}, {5, 6}});
  std::error_code code;
  CHECK_FALSE(distrib::parse_stream_item({}, code));
  CHECK(code == distrib::stream_errc::bad_log);
  CHECK_FALSE(distrib::parse_stream_item(distrib::ByteView{bytes}.first(bytes.size() - 1), code));
  CHECK(code == distrib::stream_errc::bad_log);
}

TEST_CASE("an item of a kind that this version does not know is of a newer version") {
  distrib::WireWriter writer;
  writer.varint(1, 99);
  std::error_code code;
  CHECK_FALSE(distrib::parse_stream_item(writer.view(), code));
  CHECK(code == distrib::stream_errc::newer_version);
}

TEST_CASE("items that cannot be in a stream log are refused") {
  const distrib::StreamItem wrong[] = {
      distrib::StreamRange{"events", 4, 4, {}, {}},
      distrib::StreamRange{"", 0, 4, {}, {}},
      distrib::StreamRange{std::string(distrib::max_source_name_bytes + 1, 'x'), 0, 4, {}, {}},
      distrib::StreamRange{"events", 0, 4, {}, {}, std::string(distrib::max_source_version_bytes + 1, 'x')},
      distrib::StreamRange{"events", 0, 4, {}, {}, "", 7, 0},
      distrib::StreamRange{"events", 0, 4, {}, {}, "", 7, 10},
      distrib::StreamRanks{1, {}},
      distrib::StreamRanks{0, {1}},
      distrib::StreamRanks{1, {2, 1}},
      distrib::StreamRanks{1, {1, 1}},
      distrib::StreamRanks{1, std::vector<std::uint32_t>(distrib::max_stream_ranks + 1, 1)},
  };
  for (const distrib::StreamItem& item : wrong) {
    CHECK_FALSE(distrib::is_valid_stream_item(item));
    CHECK_FALSE(parsed_item(bytes_of_item(item)));
  }
}
