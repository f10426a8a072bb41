// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Objects of small cuts, for tests.
namespace object_parts {

/// The object of shard `shard`: one element of the variable "v", whose bytes are the first 8 of the object, and the
/// step. `more`: so many further variables.
inline auto object(std::uint32_t shard, std::uint32_t shards, std::int64_t value, std::int64_t step, int more = 0)
    -> std::vector<std::byte> {
  using distrib::Shape;
  const std::array<std::int64_t, 1> values{value}, steps{step};
  distrib::BundlePart part;
  part.tensors.push_back(
      {"v", distrib::DType::int64, Shape{shards}, {Shape{shard}, Shape{1}}, std::as_bytes(std::span{values})});
  part.tensors.push_back(
      {"global_step", distrib::DType::int64, Shape{}, distrib::Slice::whole(Shape{}), std::as_bytes(std::span{steps})});
  for (int i = 0; i < more; ++i)
    part.tensors.push_back({std::to_string(i) + std::string(100, 'w'),
                            distrib::DType::int64,
                            Shape{shards},
                            {Shape{shard}, Shape{1}},
                            std::as_bytes(std::span{values})});
  distrib::Error error;
  auto object = distrib::encode_cut_object(part, shard, shards, error);
  distrib::throw_if(error);
  return object;
}

}  // namespace object_parts
