// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/keep_newest.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/state_file.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

// Which checkpoints are preserved for their time, by the rule of TensorFlow's CheckpointManager, and what the state
// file says of it: the time of one that is preserved is not after `last`, that of every other one is. So whoever reads
// it knows, whatever clocks there were.
class PreservingRule {
 public:
  /// `oldest`: the time of the oldest one that may be let go; empty: there is none.
  PreservingRule(double hours, const SaveTimes& times, std::optional<double> oldest)
      : interval_{hours * 3600}, now_{times.now}, on_{hours > 0 && now_ > 0}, told_{on_ || times.last_preserved} {
    // Of checkpoints that nothing is known of the oldest may have been the last one preserved.
    const double first = oldest ? until_now(*oldest) - interval_ : now_ - 1;
    last_ = times.last_preserved.value_or(first);
    if (now_ > 0) last_ = std::min(last_, now_ - 1);  // the clock was put back
  }

  /// Whether the state file has times.
  [[nodiscard]] auto is_told() const noexcept -> bool { return told_; }
  [[nodiscard]] auto last() const noexcept -> double { return last_; }

  /// Whether one that was saved at `time` is preserved where it would be let go.
  [[nodiscard]] auto preserves(double time) noexcept -> bool {
    time = until_now(time);
    if (!on_ || time - interval_ < last_) return false;
    last_ = time;
    return true;
  }

  /// The time that the state file has of it.
  [[nodiscard]] auto stored(double time, bool preserved) const noexcept -> double {
    constexpr double after = 1e-6;  // more than doubles are apart in this century
    return preserved ? std::min(time, last_) : std::max(until_now(time), last_ + after);
  }

 private:
  [[nodiscard]] auto until_now(double time) const noexcept -> double { return now_ > 0 ? std::min(time, now_) : time; }

  double interval_;
  double now_;
  bool on_;
  bool told_;
  double last_ = 0;
};

}  // namespace detail

DISTRIB_DECL auto plan_keep_newest(std::string_view directory, std::string_view name,
                                   std::vector<SavedCheckpoint> saved, const Retention& retention,
                                   std::string_view writer, SaveTimes times) -> FilePlan {
  const std::string prefix = detail::join_path(directory, name);
  const auto counts = [&](const SavedCheckpoint& other) {
    return !other.preserved && detail::series_of(other.prefix) == detail::series_of(name);
  };
  std::erase_if(saved, [&](const SavedCheckpoint& other) { return other.prefix == prefix || other.files.empty(); });
  auto series = 1 + static_cast<std::size_t>(std::count_if(saved.begin(), saved.end(), counts));
  const auto oldest = std::find_if(saved.begin(), saved.end(), counts);
  detail::PreservingRule rule{retention.keep_checkpoint_every_n_hours, times,
                              oldest == saved.end() ? std::nullopt : std::optional{oldest->timestamp}};
  std::vector<std::string> dropped;
  std::vector<const SavedCheckpoint*> kept;
  for (SavedCheckpoint& other : saved) {
    const bool beyond = retention.max_to_keep != 0 && series > retention.max_to_keep && counts(other);
    if (beyond) {
      --series;
      other.preserved = rule.preserves(other.timestamp);
    }
    if (!beyond || other.preserved) kept.push_back(&other);
    else
      for (std::string& file : other.files) dropped.push_back(std::move(file));
  }
  CheckpointState state;
  state.model_checkpoint_path = name;
  for (const SavedCheckpoint* other : kept) {
    state.all_model_checkpoint_paths.push_back(detail::relative_path(other->prefix, directory));
    if (rule.is_told())
      state.all_model_checkpoint_timestamps.push_back(rule.stored(other->timestamp, other->preserved));
  }
  state.all_model_checkpoint_paths.emplace_back(name);
  if (rule.is_told()) {
    state.all_model_checkpoint_timestamps.push_back(rule.stored(times.now, false));
    state.last_preserved_timestamp = rule.last();
  }

  FilePlan plan = plan_state_file(directory, state, writer);
  for (const std::string& file : dropped) plan.push_back(FileAction::remove(file));
  return plan;
}

}  // namespace v0
}  // namespace distrib
