// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The call of the contribution that is being counted. It is answered once.
///
/// Threads: one at a time.
template <class Connection>
class PushCall {
 public:
  void begin(Call<Push, Connection> call, bool pull_follows) {
    call_ = std::move(call);
    start(pull_follows);
  }
  void begin(Call<PushSum, Connection> call, bool pull_follows) {
    of_sum_ = std::move(call);
    start(pull_follows);
  }
  /// The contribution arrived earlier with other bytes, which count; the answer will say so.
  void found_other_bytes() noexcept { not_repeatable_ = true; }

  /// True if the call has no answer yet.
  [[nodiscard]] explicit operator bool() const noexcept { return call_ || of_sum_; }
  void answer(Progress progress) {
    if (call_) std::exchange(call_, std::nullopt)->reply({std::move(progress), not_repeatable_}, pull_follows_);
    else if (of_sum_)
      std::exchange(of_sum_, std::nullopt)->reply({std::move(progress), not_repeatable_}, pull_follows_);
  }
  void fail(const std::error_code& code, std::string_view where) {
    if (call_) std::exchange(call_, std::nullopt)->fail(code, where);
    else if (of_sum_) std::exchange(of_sum_, std::nullopt)->fail(code, where);
  }

 private:
  void start(bool pull_follows) {
    pull_follows_ = pull_follows;
    not_repeatable_ = false;
  }

  std::optional<Call<Push, Connection>> call_;
  std::optional<Call<PushSum, Connection>> of_sum_;  // at most one of the two
  bool pull_follows_ = false;
  bool not_repeatable_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
