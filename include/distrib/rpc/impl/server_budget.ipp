// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/server_budget.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto BudgetShare::operator=(BudgetShare&& other) noexcept -> BudgetShare& {
  std::swap(of_, other.of_);
  std::swap(calls_, other.calls_);
  std::swap(held_, other.held_);
  std::swap(owed_, other.owed_);
  return *this;
}

DISTRIB_DECL void BudgetShare::leave() noexcept {
  if (of_ == nullptr) return;
  of_->calls -= calls_;
  of_->bytes -= held_ + owed_;
  of_ = nullptr;
}

DISTRIB_DECL void BudgetShare::join(std::shared_ptr<ServerBudget> other) noexcept {
  leave();
  of_ = std::move(other);
  of_->calls += calls_;
  of_->bytes += held_ + owed_;
}

}  // namespace v0
}  // namespace distrib
