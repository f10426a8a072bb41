// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Extra input of a model for one contribution: numbers by name. A value.
using Feed = std::vector<std::pair<std::string, std::vector<float>>>;

/// Gives the model extra input for each contribution, as TensorFlow's FeedFnHook: `FeedFn{[](Step step, Rank) -> Feed {
/// return {{"keep_probability", {step < 100 ? 1.0F : 0.5F}}}; }}`. The model reads it by `StepContext::feed`.
///
/// With local steps it gives input for each of them, by their numbers.
///
/// `feed_fn` must be a pure function of step and rank: after a failure a contribution is computed again, and must have
/// the same bytes. Called on the threads that compute contributions, for several ranks at once. Several of these hooks
/// are allowed; two feeds of one name end the job with `train_errc::bad_hook`.
struct FeedFn {
  using Setting = FeedFn;
  std::function<Feed(Step, Rank)> feed_fn;
};

namespace detail {

/// Returns what all these functions give for one contribution. Throws `train_errc::bad_hook` if two give the same name.
[[nodiscard]] DISTRIB_DECL auto feed_of(const std::vector<FeedFn>& functions, Step step, Rank rank) -> Feed;

/// Returns the numbers that have this name. Throws `train_errc::bad_hook` if nothing has it. `feed` may be null.
[[nodiscard]] DISTRIB_DECL auto find_feed(const Feed* feed, std::string_view name) -> std::span<const float>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/feed_fn.ipp>
#endif
