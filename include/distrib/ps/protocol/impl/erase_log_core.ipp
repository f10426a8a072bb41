// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/erase_log_core.hpp>

#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <ranges>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL EraseLogCore::EraseLogCore(Step last_step, std::vector<TableShare> tables)
    : last_step_{last_step}, tables_{std::move(tables)} {}

DISTRIB_DECL void EraseLogCore::open(const std::optional<RankFile>& file, Step steps_ahead) {
  steps_ahead_ = std::max<Step>(steps_ahead, 1);
  if (!file) return;
  horizon_ = told_ = file->horizon;
  for (ErasedKeys entry : file->erased) {
    const TableShare* const share = share_of(entry.table);
    if (share == nullptr) continue;
    std::erase_if(entry.keys, [share](std::uint64_t key) { return !share->owns(key); });
    if (!entry.keys.empty()) entries_.push_back(std::move(entry));
  }
  // several files may have the same entry
  std::ranges::sort(entries_);
  const auto twice = std::ranges::unique(entries_);
  entries_.erase(twice.begin(), twice.end());
  for (const ErasedKeys& entry : entries_) keys_ += entry.keys.size();
}

DISTRIB_DECL auto EraseLogCore::share_of(std::string_view table) const noexcept -> const TableShare* {
  const auto found = std::ranges::find_if(tables_, [table](const TableShare& of) { return of.info().name == table; });
  return found == tables_.end() ? nullptr : &*found;
}

DISTRIB_DECL void EraseLogCore::ask(std::uint64_t caller, std::string table, std::vector<std::uint64_t> keys) {
  const auto refuse = [&](ps_errc why) { answers_.push_back({caller, {}, 0, why}); };
  const TableShare* const share = share_of(table);
  if (share == nullptr) return refuse(ps_errc::no_such_table);
  if (!share->info().any_key()) return refuse(ps_errc::not_erasable);
  if (keys.size() > max_erased_at_once || asked_.size() == most_asked) return refuse(ps_errc::too_many_erased);
  std::erase_if(keys, [share](std::uint64_t key) { return !share->owns(key); });
  std::ranges::sort(keys);
  const auto twice = std::ranges::unique(keys);
  keys.erase(twice.begin(), twice.end());
  if (keys.empty()) return answers_.push_back({caller});
  asked_.push_back({caller, {0, std::move(table), std::move(keys)}});
}

DISTRIB_DECL auto EraseLogCore::next_write(Step newest) -> std::optional<RankFile> {
  told_ = std::max(told_, newest);
  if (steps_ahead_ == 0 || writing_) return std::nullopt;
  const Step after = told_ + 1;  // X2
  for (Asked& asked : std::exchange(asked_, {})) {
    const std::size_t keys = asked.entry.keys.size();
    const bool has_room = keys_ + keys <= max_erased_keys;
    if (after > last_step_ || !has_room) {
      answers_.push_back({asked.caller, {}, 0, has_room ? ps_errc::shard_done : ps_errc::too_many_erased});
      continue;
    }
    keys_ += keys;
    asked.entry.after = after;
    taken_.push_back(std::move(asked));
  }
  const Step horizon = newest + steps_ahead_ / 2 >= horizon_ ? newest + 1 + steps_ahead_ : horizon_;
  if (taken_.empty() && horizon == horizon_) return std::nullopt;
  writing_ = horizon;
  RankFile file{horizon, {}, entries_};
  for (const Asked& taken : taken_) file.erased.push_back(taken.entry);
  return file;
}

DISTRIB_DECL void EraseLogCore::written() {
  if (!writing_) return;
  horizon_ = std::max(horizon_, *std::exchange(writing_, std::nullopt));
  for (Asked& taken : std::exchange(taken_, {})) {
    answers_.push_back({taken.caller, taken.entry.keys, taken.entry.after});
    entries_.insert(std::ranges::upper_bound(entries_, taken.entry), std::move(taken.entry));
  }
}

DISTRIB_DECL auto EraseLogCore::after(Step step) const noexcept -> std::span<const ErasedKeys> {
  const auto of_step = std::ranges::equal_range(entries_, step, {}, &ErasedKeys::after);
  return {of_step.begin(), of_step.end()};
}

}  // namespace v0
}  // namespace distrib
