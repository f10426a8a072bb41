// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/job.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Where the shards of a cluster export the model while it is trained, and how often. Workers send it to the parameter
/// servers with the job, but it is not part of the job, whose values do not depend on it. A value.
struct ExportSettings {
  std::string directory;  ///< A path on the machines of the parameter servers, or a URL. Empty: nothing is exported.
  std::uint64_t every_steps = 0;  ///< Each multiple of this number of steps is exported. 0: the chief names steps.
  std::chrono::milliseconds every{};  ///< How often the chief names a step, if `every_steps` is 0.
  FloatFormat rows_as = FloatFormat::float32;  ///< Format of the rows of all tables in the log: float32 or bfloat16.

  [[nodiscard]] auto operator==(const ExportSettings&) const -> bool = default;
};

/// True if the values of a step are the same in every run of the job, however often processes are started again: only
/// then a shard may export a step before it is durable.
[[nodiscard]] inline auto has_repeatable_steps(const Job& job) noexcept -> bool {
  return job.consistency.is_synchronous() && job.consistency.replicas_to_aggregate(job.ranks) == job.ranks &&
         job.replayable;
}

}  // namespace v0
}  // namespace distrib
