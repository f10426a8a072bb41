// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_format.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// How often the model is exported: a number of steps, or a time. A value.
struct ExportInterval {
  /// Each multiple of `number_of_steps`.
  template <std::integral T>
  constexpr ExportInterval(T number_of_steps) noexcept  // NOLINT: `.every = 100`
      : steps{static_cast<std::uint64_t>(std::max(number_of_steps, T{}))} {}
  /// About each `duration`, rounded to milliseconds.
  template <class Rep, class Period>
  constexpr ExportInterval(std::chrono::duration<Rep, Period> duration) noexcept  // NOLINT: `.every = 500ms`
      : time{std::chrono::round<std::chrono::milliseconds>(duration)} {}

  std::uint64_t steps = 0;  ///< 0: by time.
  std::chrono::milliseconds time{};  ///< 0: by steps.

  [[nodiscard]] auto operator==(const ExportInterval&) const -> bool = default;
};

/// Exports the model while it is trained: the parameter servers extend an export log, from which `ModelReplica` serves
/// (docs/guide/serving.md). Each position of the log is the state after one step, to the bit. What is trained does not
/// depend on it.
///
/// Needs a cluster, a synchronous job without backup workers, and data that can be read again: otherwise a step that was
/// exported might not come again after a restart, and `run()` throws `train_errc::cannot_export`.
///
/// Costs for each shard: at an export a copy of the rows that have changed, and for each row that changes for the first
/// time since the last export a hash, and 8 bytes. Each 50th export has all rows, and an earlier one when what was
/// exported since the last such one is larger; while all rows are copied the shard answers nobody.
struct ExportModel {
  using Setting = ExportModel;
  /// Directory of the log: a path that means the same on all machines of the parameter servers, on a file system with
  /// locks; it is made if it does not exist. Or a URL in an object store with conditional writes: see
  /// `TrainerBuilder::with_object_stores`; without that `run()` throws `record_errc::no_object_store`. Empty: nothing is
  /// exported.
  std::string to;
  /// How often: `100` (steps), or `std::chrono::milliseconds{500}`. By time the chief names the step whose state is
  /// exported. The last step is always exported.
  ExportInterval every = 1000;
  /// Format of the rows of tables in the log: float32, or bfloat16, which is half of the bytes. Then replicas have each
  /// number rounded to the nearest, ties to even; training goes on with what it has. Dense variables stay as they are.
  /// May be changed when a job is started again: the next position has all rows.
  FloatFormat rows_as = FloatFormat::float32;
};

}  // namespace v0
}  // namespace distrib
