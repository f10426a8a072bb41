// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tf/sync_replicas.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void SyncReplicas::set_variables(std::vector<std::size_t> elements, std::optional<Step> global_step,
                                              std::error_code& ec) {
  plan_.check(ec);
  if (!ec && elements.empty()) ec = ps_errc::no_variables;
  if (!ec && !global_step) ec = ps_errc::no_global_step;
  if (ec) return;
  elements_ = std::move(elements);
  global_step_ = *global_step;
  accumulators_.clear();
}

DISTRIB_DECL void SyncReplicas::begin(std::optional<std::int64_t> num_tokens, std::error_code& ec) {
  const std::int64_t tokens = plan_.initial_tokens(num_tokens, ec);
  if (elements_.empty()) ec = ps_errc::not_begun;
  if (ec) return;
  accumulators_.clear();
  for (const std::size_t elements : elements_) accumulators_.emplace_back(elements).set_global_step(global_step_);
  means_.assign(elements_.size(), {});
  first_step_ = global_step_;
  local_steps_.clear();
  waiting_.clear();
  tokens_.clear();
  add_tokens(tokens);
  ask_for_means();
}

}  // namespace v0
}  // namespace distrib
