// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/feed_fn.hpp>

#include <distrib/core/error.hpp>
#include <distrib/train/error.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto feed_of(const std::vector<FeedFn>& functions, Step step, Rank rank) -> Feed {
  Feed all;
  for (const FeedFn& function : functions)
    for (auto& entry : function.feed_fn(step, rank)) {
      if (std::ranges::any_of(all, [&](const auto& other) { return other.first == entry.first; }))
        throw_error(train_errc::bad_hook, "FeedFn: '" + entry.first + "' is fed twice");
      all.push_back(std::move(entry));
    }
  return all;
}

DISTRIB_DECL auto find_feed(const Feed* feed, std::string_view name) -> std::span<const float> {
  if (feed != nullptr)
    for (const auto& [fed, numbers] : *feed)
      if (fed == name) return numbers;
  throw_error(train_errc::bad_hook, "FeedFn: nothing feeds '" + std::string{name} + "'");
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
