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

// Decides which checkpoints are preserved, by the rule of TensorFlow's CheckpointManager, and which times the state
// file has: the time of a preserved checkpoint is not after `last`, the time of any other one is. So every reader of
// the file can distinguish them, whatever the clocks showed.
class PreservingRule {
 public:
  /// `oldest`: the time of the oldest checkpoint that may be removed; empty: there is none.
  PreservingRule(double hours, const SaveTimes& times, std::optional<double> oldest)
      : interval_{hours * 3600}, now_{times.now}, on_{hours > 0 && now_ > 0}, told_{on_ || times.last_preserved} {
    // If `last_preserved` is not known, the oldest checkpoint counts as the next one to preserve.
    const double first = oldest ? until_now(*oldest) - interval_ : now_ - 1;
    last_ = times.last_preserved.value_or(first);
    if (now_ > 0) last_ = std::min(last_, now_ - 1);  // the clock was set back
  }

  /// True if the state file has times.
  [[nodiscard]] auto is_told() const noexcept -> bool { return told_; }
  [[nodiscard]] auto last() const noexcept -> double { return last_; }

  /// True if a checkpoint that was saved at `time`, and would be removed, is preserved. It is then the last one
  /// preserved.
  [[nodiscard]] auto preserves(double time) noexcept -> bool {
    time = until_now(time);
    if (!on_ || time - interval_ < last_) return false;
    last_ = time;
    return true;
  }

  /// Returns the time that the state file has for a checkpoint.
  [[nodiscard]] auto stored(double time, bool preserved) const noexcept -> double {
    constexpr double after = 1e-6;  // more than the distance of two neighbouring doubles in this century
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
