// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/descriptor_limit.hpp>
#include <distrib/ps/wire/shard_status.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace distrib {
inline namespace v0 {

/// Returns the metrics of the shards of a ps task for Prometheus, in its text exposition format 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/): metrics `distrib_ps_...` with the labels task and
/// shard. Units are bytes, seconds and steps. A number that may decrease, for example after a restart from a cut, is a
/// gauge. Durations of calls are histograms.
///
/// The metrics with the label rank are those of shard 0 of task 0 only, so their number does not grow with the number of
/// shards. It is bounded: `rank_here`, `rank_step` and `rank_looks_on` are shown for the first
/// `ShardStatus::most_listed` ranks, `rank_last_total` and `rank_waited_seconds_total` for the `most_waited_ranks` that
/// the job has waited for longest. A rank that comes into that list later comes with all that was counted before.
///
/// `certificate_expires`: of the task's certificate; becomes `distrib_tls_certificate_expires_seconds`, seconds since
/// the beginning of 1970. Empty: the task has none, and there is no such metric. `descriptors`: of the process; become
/// `process_open_fds` and `process_max_fds`, the names that Prometheus' own libraries use.
[[nodiscard]] DISTRIB_DECL auto metrics_text(
    std::span<const ShardStatus> shards,
    std::optional<std::chrono::system_clock::time_point> certificate_expires = std::nullopt,
    std::optional<DescriptorUse> descriptors = std::nullopt) -> std::string;

/// Largest number of ranks that have the metrics `rank_last_total` and `rank_waited_seconds_total`.
inline constexpr std::size_t most_waited_ranks = 100;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/metrics_text.ipp>
#endif
