// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/shard_layout.hpp>

#include "ps/cut_variables.hpp"
#include "support/catch.hpp"
#include "support/whole_variables.hpp"

#include <array>
#include <cstring>
#include <vector>

using cut_variables::Whole;
using distrib::AlignedBuffer;
using distrib::DType;
using distrib::Job;
using distrib::ShardLayout;
using distrib::Slice;

namespace {

auto initial(const Job& of) -> Whole {
  Whole whole;
  for (std::uint32_t shard = 0; shard < of.shards(); ++shard) {
    const ShardLayout layout{of, shard};
    const AlignedBuffer block = initial_values(of, layout);
    support::spread(layout, block.data(), whole);
  }
  return whole;
}

}  // namespace

TEST_CASE("ShardLayout: the parts of a shard lie in one block, each at a multiple of 64", "[ps]") {
  const Job cut = cut_variables::job(3, 2, 0);  // rows 0-1, 2-3, 4-5
  const ShardLayout first{cut, 0};
  REQUIRE(first.entries().size() == 3);
  CHECK(first.shard() == 0);
  CHECK(first.entries()[0].name == "weights");
  CHECK(first.entries()[0].variable == 0);
  CHECK(first.entries()[0].whole == distrib::Shape{6, 10});
  CHECK(first.entries()[0].slice == Slice::along({6, 10}, 0, 0, 2));
  CHECK(first.entries()[0].offset_bytes == 0);
  CHECK(first.entries()[0].size_bytes == 80);
  CHECK(first.entries()[1].offset_bytes == 128);
  CHECK(first.entries()[1].slice == Slice::along({6, 10}, 0, 4, 2));
  CHECK(first.entries()[2].name == "scalar");
  CHECK(first.entries()[2].offset_bytes == 256);
  CHECK(first.entries()[2].size_bytes == 4);
  CHECK(first.block_bytes() == 320);
  const ShardLayout second{cut, 1};
  CHECK(second.entries().size() == 2);
  CHECK(second.block_bytes() == 192);
}

TEST_CASE("ShardLayout: a shard without parts", "[ps]") {
  const Job cut = cut_variables::job(1, 3, 0);
  const ShardLayout layout{cut, 1};
  CHECK(layout.entries().empty());
  CHECK(layout.block_bytes() == 0);
  CHECK(initial_values(cut, layout).size() == 0);
}

TEST_CASE("ShardLayout: has the shard's share of each table, in the job's order", "[ps]") {
  Job cut = cut_variables::job(1, 3, 0);
  CHECK(ShardLayout{cut, 0}.tables().empty());
  distrib::TableInfo any;
  any.name = "any";
  distrib::TableInfo numbered = any;
  numbered.name = "numbered";
  numbered.rows = 7;
  cut.tables = {numbered, any};
  cut.updaters_of = {{"num", "sgd"}};
  std::uint64_t next = 0;
  const std::vector<ShardLayout> layouts = shard_layouts(cut);
  REQUIRE(layouts.size() == 3);
  for (const ShardLayout& layout : layouts) {
    CHECK(layout.block_bytes() ==
          ShardLayout{cut_variables::job(1, 3, 0), layout.shard()}.block_bytes());  // tables are not part of the block
    REQUIRE(layout.tables().size() == 2);
    CHECK(layout.tables()[0].info() == numbered);
    CHECK(layout.tables()[0].updater() == 1);
    CHECK(layout.tables()[0].first() == next);
    next += layout.tables()[0].rows();
    CHECK(layout.tables()[1].info() == any);
    CHECK(layout.tables()[1].updater() == 0);
    for (std::uint64_t key = 0; key < 100; ++key)
      CHECK(layout.tables()[1].owns(key) == (distrib::TableSharding{any, 3}.shard(key) == layout.shard()));
  }
  CHECK(next == 7);
}

TEST_CASE("spread and gather: are opposites, however variables are cut", "[ps]") {
  for (const std::int64_t parts : {1, 2, 3})
    for (const std::uint32_t shards : {1U, 2U, 3U})
      for (const std::size_t axis : {0U, 1U}) {
        CAPTURE(parts, shards, axis);
        const Job cut = cut_variables::job(parts, shards, axis);
        Whole from;
        float next = 1;
        for (auto& variable : from.variables)
          for (float& element : variable) element = next++;
        Whole to;
        for (std::uint32_t shard = 0; shard < shards; ++shard) {
          const ShardLayout layout{cut, shard};
          AlignedBuffer block{layout.block_bytes()};
          support::gather(layout, from, block.data());
          float in_places = 0;
          for (const auto& entry : layout.entries())
            for (const float element : block.as<float>().subspan(entry.offset_bytes / 4, entry.size_bytes / 4))
              in_places += element;
          float in_block = 0;
          for (const float element : block.as<float>()) in_block += element;
          CHECK(in_places == in_block);  // the gaps are zero
          support::spread(layout, block.data(), to);
        }
        CHECK(from.variables == to.variables);
      }
}

TEST_CASE("initial_values: do not depend on how variables are cut", "[ps]") {
  const Whole uncut = initial(cut_variables::job(1, 1, 0));
  CHECK(uncut.variables[2][0] == 3.0F);
  CHECK(uncut.variables[0][0] != uncut.variables[0][1]);
  for (const std::int64_t parts : {1, 2, 3})
    for (const std::uint32_t shards : {1U, 2U, 3U})
      for (const std::size_t axis : {0U, 1U}) {
        CAPTURE(parts, shards, axis);
        CHECK(initial(cut_variables::job(parts, shards, axis)).variables == uncut.variables);
      }
  Job other = cut_variables::job(1, 1, 0);
  other.seed = 8;
  CHECK(initial(other).variables != uncut.variables);
}

TEST_CASE("ShardLayout: trained parts are a prefix of floats; counters come after it", "[ps]") {
  Job of;
  of.variables = {{"seen", DType::int64, {5}, {}},
                  {"b", DType::float32, {3}, distrib::ConstantInitializer{1}},
                  {"sum", DType::float64, {}, {}},
                  {"a", DType::float32, {3}, distrib::ConstantInitializer{2}}};
  of.updaters_of = {{"b", "sgd"}, {"s", "sgd"}};
  for (std::size_t v = 0; v < 4; ++v) of.parts.push_back({v, Slice::whole(of.variables[v].shape), 0});
  const ShardLayout layout{of, 0};
  REQUIRE(layout.entries().size() == 4);
  REQUIRE(layout.trained().size() == 2);
  REQUIRE(layout.counters().size() == 2);
  CHECK(layout.trained()[0].name == "a");
  CHECK(layout.trained()[1].name == "b");
  CHECK(layout.trained()[1].updater == 1);
  CHECK(layout.trained()[1].dtype == DType::float32);
  CHECK(layout.counters()[0].name == "seen");
  CHECK(layout.counters()[0].dtype == DType::int64);
  CHECK(layout.counters()[0].updater == 0);  // although a prefix fits its name
  CHECK(layout.counters()[0].offset_bytes == 128);
  CHECK(layout.counters()[0].size_bytes == 40);
  CHECK(layout.counters()[1].dtype == DType::float64);
  CHECK(layout.counters()[1].offset_bytes == 192);
  CHECK(layout.float_bytes() == 128);
  CHECK(layout.block_bytes() == 256);
  REQUIRE(layout.groups().size() == 2);
  CHECK(layout.groups()[1].offset_bytes + layout.groups()[1].size_bytes == 128);
  const AlignedBuffer block = initial_values(of, layout);
  CHECK(block.as<float>()[0] == 2.0F);
  CHECK(block.as<float>()[16] == 1.0F);
  for (const std::int64_t number : block.as<std::int64_t>().subspan(16)) CHECK(number == 0);

  Job alone;
  alone.variables = {of.variables[0]};
  alone.parts = {{0, Slice::whole({5}), 0}};
  const ShardLayout counters{alone, 0};
  CHECK(counters.float_bytes() == 0);
  CHECK(counters.block_bytes() == 64);
  CHECK(counters.groups().empty());
  CHECK(counters.trained().empty());
}

TEST_CASE("uneven_shards: names a shard with more than twice the mean, if it is large", "[ps]") {
  const auto text = [](std::int64_t first, std::int64_t others) {
    Job of;
    of.shards_per_task = 4;
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      const std::int64_t elements = shard == 0 ? first : others;
      of.variables.push_back({"v" + std::to_string(shard), DType::float32, {elements}, {}});
      of.parts.push_back({shard, Slice::whole({elements}), 3 - shard});
    }
    return distrib::uneven_shards(shard_layouts(of));
  };
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  CHECK(text(mebi, mebi).empty());
  CHECK(text(3 * mebi, mebi).empty());  // exactly twice the mean
  CHECK(
      text(3 * mebi + 64, mebi) ==
      "shard 3 has 12583168 bytes of variables, the mean of 4 shards is 6291520; its largest part is 12583168 bytes of "
      "v0: each step waits for this shard; a partitioner divides variables");
  CHECK(text(mebi / 4, 16).empty());  // not more than 1 MiB
  CHECK(distrib::uneven_shards({}).empty());
}

TEST_CASE("spread and gather: elements of 8 bytes, however variables are cut", "[ps]") {
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::size_t axis : {0U, 1U}) {
      CAPTURE(shards, axis);
      Job of;
      of.shards_per_task = shards;
      of.variables = {{"seen", DType::int64, {6, 3}, {}}, {"sum", DType::float64, {2}, {}}};
      for (std::int64_t part = 0; part < 3; ++part) {
        const std::int64_t count = axis == 0 ? 2 : 1;
        of.parts.push_back(
            {0, Slice::along({6, 3}, axis, part * count, count), static_cast<std::uint32_t>(part) % shards});
      }
      of.parts.push_back({1, Slice::whole({2}), shards - 1});
      std::vector<std::int64_t> seen(18);
      for (std::int64_t& number : seen) number = (std::int64_t{1} << 40) * (&number - seen.data()) - 7;
      std::vector<double> sum{1e300, -0.1};
      std::vector<std::int64_t> seen_again(18);
      std::vector<double> sum_again(2);
      for (const ShardLayout& layout : shard_layouts(of)) {
        AlignedBuffer block{layout.block_bytes()};
        const auto bytes = [](auto& elements) { return std::as_writable_bytes(std::span{elements}).data(); };
        support::gather(layout, [&](std::size_t v) { return v == 0 ? bytes(seen) : bytes(sum); }, block.data());
        support::spread(layout, block.data(),
                        [&](std::size_t v) { return v == 0 ? bytes(seen_again) : bytes(sum_again); });
      }
      CHECK(seen_again == seen);
      CHECK(sum_again == sum);
    }
}
