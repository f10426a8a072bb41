// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/writer_locks.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_object_store.hpp>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void WriterLocks::hold_local(const TrainingPlan& plan, std::chrono::milliseconds within) {
  const std::string who = "local job";
  if (plan.save() && !detail::is_url(plan.save()->directory)) {
    const std::string& directory = plan.save()->directory;
    hold(directory, "ps-0", who, within);
    std::error_code ignored;
    for (const std::string& name : detail::list_directory(directory, ignored)) {
      constexpr std::string_view end = ".lock";
      if (name.starts_with(".ps-") && name.ends_with(end))
        hold(directory, name.substr(1, name.size() - 1 - end.size()), who, within);
    }
  }
  hold_chief(plan, who, within);
}

DISTRIB_DECL void WriterLocks::hold_chief(const TrainingPlan& plan, const std::string& who,
                                          std::chrono::milliseconds within) {
  for (const std::string& directory : plan.written()) hold(directory, "chief", who, within);
}

DISTRIB_DECL void WriterLocks::hold_evaluator(const TrainingPlan& plan, const std::string& who,
                                              std::chrono::milliseconds within) {
  for (const std::string& directory : plan.written()) hold(directory, "evaluator", who, within);
}

DISTRIB_DECL void WriterLocks::hold(const std::string& directory, const std::string& writer, const std::string& who,
                                    std::chrono::milliseconds within) {
  if (detail::is_url(directory)) return;
  std::error_code ignored;
  detail::make_directories(directory, ignored);  // realpath() needs an existing directory
  const std::unique_ptr<char, void (*)(void*)> real{::realpath(directory.c_str(), nullptr), std::free};
  const auto [lock, is_new] = locks_.try_emplace(detail::join_path(real ? real.get() : directory, writer));
  if (!is_new) return;
  Error error;
  lock->second.hold(directory, writer, who, within, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib
