// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// A job of three variables; the first one is divided into parts.
namespace cut_variables {

/// The first variable is divided into `parts` along `axis`; the shards get the parts in turn.
inline auto job(std::int64_t parts, std::uint32_t shards, std::size_t axis) -> distrib::Job {
  using distrib::DType;
  using distrib::Slice;
  distrib::Job job;
  job.seed = 7;
  job.shards_per_task = shards;
  job.variables = {{"weights", DType::float32, {6, 10}, distrib::GlorotUniformInitializer{}},
                   {"bias", DType::float32, {10}, distrib::UniformInitializer{}},
                   {"scalar", DType::float32, {}, distrib::ConstantInitializer{3}}};
  const std::int64_t extent = job.variables[0].shape[axis];
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = extent * part / parts;
    job.parts.push_back({0, Slice::along({6, 10}, axis, first, extent * (part + 1) / parts - first),
                         static_cast<std::uint32_t>(part) % shards});
  }
  job.parts.push_back({1, Slice::whole({10}), shards - 1});
  job.parts.push_back({2, Slice::whole({}), 0});
  return job;
}

/// The whole variables, each in memory of its own.
struct Whole {
  std::vector<std::vector<float>> variables{std::vector<float>(60), std::vector<float>(10), std::vector<float>(1)};
  auto operator()(std::size_t v) -> std::byte* { return reinterpret_cast<std::byte*>(variables[v].data()); }
};

}  // namespace cut_variables
