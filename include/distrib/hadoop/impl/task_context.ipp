// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/task_context.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto TaskContext::counter(std::string_view group, std::string_view name) -> Counter {
  const auto [found, is_new] = numbers_.try_emplace({std::string{group}, std::string{name}}, counts_.size());
  if (is_new) {
    counts_.push_back(0);
    if (outlets_.registered) outlets_.registered(static_cast<std::uint32_t>(found->second), group, name);
  }
  return static_cast<Counter>(found->second);
}

DISTRIB_DECL auto Values::next() -> std::optional<ByteView> {
  if (ended_) return std::nullopt;
  std::optional<ByteView> value = next_();
  ended_ = !value;
  return value;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
