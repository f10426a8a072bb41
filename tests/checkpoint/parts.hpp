// SPDX-License-Identifier: Apache-2.0
// One checkpoint that is saved as a whole or in parts: a variable in slices, a variable that is whole, and a step and a
// text that all parts have.
#pragma once

#include <distrib/checkpoint/bundle_writer.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace support {

struct Parts {
  explicit Parts(int first = 0) {
    std::iota(values.begin(), values.end(), static_cast<float>(first));
    for (std::size_t shard = 0; shard < 3; ++shard) {
      const auto slice = distrib::Slice::along(shape, 0, static_cast<std::int64_t>(shard) * 2, 2);
      own[shard].tensors.push_back(
          {"v", distrib::DType::float32, shape, slice, bytes_of(values).subspan(shard * 16, 16)});
    }
    own[1].tensors.push_back(whole("bias", {3}, bias));
    together = own;
    together[0].tensors.push_back(whole("step", {}, step));
    together[0].strings.push_back({"job", {}, {"the job's text"}});
    for (distrib::BundlePart& part : own) {
      part.tensors.push_back(whole("step", {}, step));
      part.strings.push_back({"job", {}, {"the job's text"}});
    }
  }
  Parts(const Parts&) = delete;

  distrib::Shape shape{6, 2};
  std::vector<float> values = std::vector<float>(12);
  std::vector<float> bias{1, 2, 3};
  std::vector<std::int64_t> step{40};
  std::vector<distrib::BundlePart> own{3};  ///< For `plan_part`: each part is complete by itself.
  std::vector<distrib::BundlePart> together{3};  ///< For `plan_bundle`: each tensor once.
};

}  // namespace support
