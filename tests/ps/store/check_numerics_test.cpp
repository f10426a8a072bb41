// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/check_numerics.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

using namespace distrib;

namespace {

constexpr std::uint32_t bad_bits[] = {0x7f800000, 0xff800000,              // infinities
                                      0x7f800001, 0x7fc00000, 0x7fffffff,  // NaNs: signalling, quiet, all ones
                                      0xff800001, 0xffc00000, 0xffffffff};
constexpr std::uint32_t good_bits[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff,
                                       0x3f800000, 0x7f7fffff, 0xff7fffff};

}  // namespace

TEST_CASE("all_finite: finds a bad element at any position, for any number of elements", "[ps]") {
  for (std::size_t size = 0; size <= 37; ++size) {
    for (const std::uint32_t good : good_bits) {
      std::vector<float> elements(size, std::bit_cast<float>(good));
      CHECK(all_finite(elements));
      for (std::size_t at = 0; at < size; ++at)
        for (const std::uint32_t bad : bad_bits) {
          elements[at] = std::bit_cast<float>(bad);
          if (all_finite(elements)) FAIL_CHECK("element " << at << " of " << size << ": bits " << bad);
          elements[at] = std::bit_cast<float>(good);
        }
    }
  }
  std::vector<float> elements(8, 1.0F);
  elements[0] = elements[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(all_finite(std::span{elements}.subspan(1, 6)));  // elements beside the range are not read
}

TEST_CASE("check_numerics: names the first variable or table that is not finite", "[ps]") {
  Job job = story::with_tables(story::job(1, 1, 1, 0));
  job.variables.push_back({"more", DType::float32, {3}, ZerosInitializer{}});
  job.parts.push_back({1, Slice::whole({3}), 0});
  const ShardLayout layout{job, 0};
  const ContributionLayout places{layout, {{5, 7}, {0, 2}}};
  AlignedBuffer block{places.size_bytes()};
  places.write_keys(block.bytes());
  const auto checked = [&] {
    TableGradients tables;
    REQUIRE_FALSE(tables.read(layout, block.bytes()));
    const Error error = check_numerics(layout, block, tables);
    CHECK(static_cast<bool>(error) == (error.code == ps_errc::not_finite));
    return error.where;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  float& of_more = block.as<float>()[64 / sizeof(float) + 2];
  float& gap = block.as<float>()[64 / sizeof(float) + 3];
  float& of_words = block.as<float>()[places.rows_at(0) / sizeof(float) + 31];
  float& of_items = block.as<float>()[places.rows_at(1) / sizeof(float)];
  CHECK(checked().empty());
  gap = infinity;
  CHECK(checked().empty());
  of_items = -infinity;
  CHECK(checked() == "items");
  of_words = std::numeric_limits<float>::quiet_NaN();
  CHECK(checked() == "words");
  of_more = infinity;
  CHECK(checked() == "more");
  block.as<float>()[0] = infinity;
  CHECK(checked() == "v0");
  CHECK(check_numerics(ShardLayout{Job{}, 0}, AlignedBuffer{0}, {}).where.empty());
}

TEST_CASE("check_numerics: checks counters of doubles, but not integers", "[ps]") {
  constexpr std::uint64_t bad[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001, 0xfff8000000000000,
                                   0xffffffffffffffff};
  constexpr std::uint64_t good[] = {0, 0x8000000000000000, 1, 0x7fefffffffffffff, 0xffefffffffffffff};
  for (std::size_t size = 0; size < 4; ++size)
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<double> elements(size, 1.0);
      for (const std::uint64_t bits : good) {
        elements[at] = std::bit_cast<double>(bits);
        CHECK(all_finite(elements));
      }
      for (const std::uint64_t bits : bad) {
        elements[at] = std::bit_cast<double>(bits);
        CHECK_FALSE(all_finite(elements));
      }
    }

  Job job = story::job(1, 1, 1, 0);
  job.variables.push_back({"seen", DType::int64, {2}, {}});
  job.variables.push_back({"sum", DType::float64, {2}, {}});
  job.parts.push_back({1, Slice::whole({2}), 0});
  job.parts.push_back({2, Slice::whole({2}), 0});
  const ShardLayout layout{job, 0};
  AlignedBuffer block{layout.block_bytes()};
  TableGradients tables;
  REQUIRE_FALSE(tables.read(layout, block.bytes()));
  const std::uint64_t nan = 0x7ff8000000000000;
  block.as<std::uint64_t>()[8] = nan;  // an element of the int64 counter
  block.as<double>()[18] = std::bit_cast<double>(nan);  // a gap of the block
  CHECK_FALSE(check_numerics(layout, block, tables));
  block.as<double>()[17] = std::bit_cast<double>(nan);
  CHECK(check_numerics(layout, block, tables).where == "sum");
}
