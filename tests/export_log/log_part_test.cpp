// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/log_part.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

struct MadePart {
  std::vector<std::uint64_t> keys{1, 5};
  std::vector<float> values{0.5F, -1, 2, 0.25F};
  std::vector<std::uint16_t> halves{0x3F80, 0xC000};
  std::vector<std::uint64_t> gone{2, 7};
  std::array<std::int64_t, 2> dense{11, 12};
  distrib::PartContents contents;

  MadePart() {
    contents.step = 600;
    contents.shard = 1;
    contents.on = "parts/x";
    contents.tables.push_back({"a",
                               2,
                               distrib::FloatFormat::float32,
                               {{0, 3}, {9, 1024}},
                               std::as_bytes(std::span{keys}),
                               std::as_bytes(std::span{values}),
                               std::as_bytes(std::span{gone})});
    contents.tables.push_back({"b",
                               1,
                               distrib::FloatFormat::bfloat16,
                               {{0, 10}},
                               std::as_bytes(std::span{keys}),
                               std::as_bytes(std::span{halves}),
                               {}});
    contents.slices.push_back({"dense", distrib::DType::int64, distrib::Shape{5},
                               distrib::Slice::along(distrib::Shape{5}, 0, 3, 2), std::as_bytes(std::span{dense})});
  }
  [[nodiscard]] auto bytes() const -> std::vector<std::byte> {
    distrib::Error error;
    auto made = write_log_part(contents, error);
    CHECK(!error);
    return made;
  }
  [[nodiscard]] auto is_taken() const -> bool {
    distrib::Error error;
    const std::vector<std::byte> made = bytes();
    const bool taken = distrib::parse_log_part(made, error).has_value();
    CHECK(taken != (error.code == distrib::export_errc::bad_object));
    return taken;
  }
};

}  // namespace

TEST_CASE("a part is read as it was written") {
  const MadePart made;
  const std::vector<std::byte> bytes = made.bytes();
  distrib::Error error;
  const auto part = distrib::parse_log_part(bytes, error);
  REQUIRE(part);
  CHECK(part->step == 600);
  CHECK(part->shard == 1);
  CHECK(part->on == "parts/x");
  REQUIRE(part->tables.size() == 2);
  CHECK(part->tables[0].name == "a");
  CHECK(part->tables[0].owned == made.contents.tables[0].owned);
  REQUIRE(part->tables[0].rows() == 2);
  CHECK(part->tables[0].key(1) == 5);
  REQUIRE(part->tables[0].gone_keys() == 2);
  CHECK(part->tables[0].gone_key(1) == 7);
  std::array<float, 2> row{};
  part->tables[0].row(1, row);
  CHECK(row == std::array{2.0F, 0.25F});
  part->tables[1].row(1, std::span{row}.first(1));
  CHECK(row[0] == -2.0F);
  REQUIRE(part->slices.size() == 1);
  CHECK(part->slices[0].name == "dense");
  CHECK(part->slices[0].shape == distrib::Shape{5});
  CHECK(part->slices[0].slice.start[0] == 3);
  CHECK(distrib::load_le<std::int64_t>(part->slices[0].bytes.data() + 8) == 12);
  // A delta costs what has changed, and less than 4 KiB.
  CHECK(bytes.size() < 4096);
}

TEST_CASE("a part that means two things is refused") {
  CHECK(MadePart{}.is_taken());
  MadePart unsorted;
  unsorted.keys = {5, 1};
  CHECK(!unsorted.is_taken());
  MadePart twice;
  twice.keys = {5, 5};
  CHECK(!twice.is_taken());
  MadePart both;
  both.gone = {5, 7};
  CHECK(!both.is_taken());
  MadePart overlapping;
  overlapping.contents.tables[0].owned = {{0, 5}, {4, 6}};
  CHECK(!overlapping.is_taken());
  MadePart outside;
  outside.contents.on = "../secret";
  CHECK(!outside.is_taken());
  std::vector<std::byte> short_of_a_byte = MadePart{}.bytes();
  short_of_a_byte.pop_back();
  distrib::Error error;
  CHECK(!distrib::parse_log_part(short_of_a_byte, error));
  CHECK(error.code == distrib::export_errc::bad_object);
}
