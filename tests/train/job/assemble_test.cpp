// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/assemble.hpp>

#include "support/catch.hpp"
#include "train/line_model.hpp"

#include <distrib/placement/round_robin.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/tensor/values.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

using namespace distrib;

TEST_CASE(
    "assemble: with the variables in a job's text or in the model, for any parts and shards, the values are equal",
    "[train]") {
  for (const std::uint32_t shards : {1U, 3U})
    for (const std::int64_t parts : {1, 2})
      for (const FloatFormat format : {FloatFormat::float32, FloatFormat::bfloat16}) {
        CAPTURE(shards, parts, format);
        Job job;
        job.seed = 5;
        job.variables = LineModel{}.variables().infos();
        job.variables.back().initializer = ConstantInitializer{0.5F};
        job.shards_per_task = shards;
        job.parts = plan_parts(job.variables, FixedShardsPartitioner{parts}, RoundRobinStrategy{}, 1, shards);
        job.wire_format = format;
        job.total_steps = 1;
        Error error;
        const Job read = parse_job(to_text(job), error);  // what a process without the model knows of the job
        REQUIRE_FALSE(error);

        const std::vector<ShardLayout> layouts = shard_layouts(read);
        std::vector<SharedBuffer> blocks;
        for (const ShardLayout& layout : layouts)
          blocks.push_back(wire_block(layout, std::make_shared<AlignedBuffer>(initial_values(read, layout))));
        RuntimeValues values{RuntimeVariables{read.variables, read.tables}};
        assemble(layouts, blocks, values);
        Values<LineModel::Variables> named{LineModel{}.variables()};
        assemble(layouts, blocks, named);

        const auto weights = get<"weights">(named);
        REQUIRE(values.size_bytes(0) == weights.size() * sizeof(float));
        CHECK(std::memcmp(values.data(0), weights.data(), values.size_bytes(0)) == 0);
        CHECK(weights(0) != 0.0F);
        CHECK(weights(0) != weights(1));
        CHECK(load_le<float>(values.data(1)) == 0.5F);
        CHECK(get<"bias">(named)() == 0.5F);
      }
}
