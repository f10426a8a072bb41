// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_change.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto replaced(DeviceSpec spec, const DeviceChange& change) -> DeviceSpec {
  change.job.apply(spec.job);
  change.replica.apply(spec.replica);
  change.task.apply(spec.task);
  change.type.apply(spec.type);
  change.index.apply(spec.index);
  if (spec.type == "cpu") spec.type = "CPU";
  if (spec.type == "gpu") spec.type = "GPU";
  return spec;
}

}  // namespace v0
}  // namespace distrib
