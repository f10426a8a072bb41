// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_convert.hpp"

#include "checkpoint.hpp"

#include <distrib/checkpoint/error.hpp>

namespace tools {

auto TensorNames::set(const CheckpointOptions& options, Report& report) -> bool {
  only_ = options.only;
  for (const std::string& rule : options.renamed) {
    const std::size_t at = rule.find('=');
    const distrib::InitialName name{at == std::string::npos ? "" : rule.substr(at + 1), rule.substr(0, at)};
    const bool is_known = std::ranges::any_of(renamed_, [&](const auto& other) { return other.of_job == name.of_job; });
    if (at == std::string::npos || !name.is_valid() || is_known) {
      report.refuse("--rename " + rule,
                    "write OLD=NEW, each OLD once; two names that end with / or . rename all names below; OLD= "
                    "leaves a tensor out");
      return false;
    }
    renamed_.push_back(name);
  }
  return true;
}

auto TensorNames::operator()(const std::string& name) -> std::string {
  bool is_wanted = only_.empty();
  for (const std::string& one : only_) {
    if (name != one && !(distrib::InitialName::is_prefix(one) && name.starts_with(one))) continue;
    used_.insert("--only " + one);
    is_wanted = true;
  }
  if (!is_wanted) return {};
  const distrib::InitialName* const rule = distrib::detail::find_initial_name(renamed_, name);
  if (rule == nullptr) return name;
  used_.insert("--rename " + rule->of_job);
  return rule->stored_name(name);
}

auto TensorNames::are_all_used(const std::string& where, Report& report) const -> bool {
  bool all = true;
  const auto check = [&](const std::string& rule) {
    if (used_.contains(rule)) return;
    report.failure({distrib::checkpoint_errc::not_found, where + ": " + rule});
    all = false;
  };
  for (const std::string& name : only_) check("--only " + name);
  for (const distrib::InitialName& name : renamed_) check("--rename " + name.of_job);
  return all;
}

}  // namespace tools
