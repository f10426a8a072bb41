// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/frame_limits.hpp>

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How many items of one call may be on their way: one end's view, of both directions. A value.
class StreamCredit {
 public:
  /// Whether one more item may be sent, which it then is. If not, `add` says when.
  [[nodiscard]] auto send() noexcept -> bool {
    refused_ = may_send_ == 0;
    if (!refused_) --may_send_;
    return !refused_;
  }

  /// The peer takes so many more; whatever it says, it is a bounded number. True: an item that was refused is taken
  /// now.
  auto add(std::uint32_t more) noexcept -> bool {
    may_send_ = more > most - may_send_ ? most : may_send_ + more;
    return std::exchange(refused_, false);
  }

  /// An item came; false: it is one more than the peer was granted.
  [[nodiscard]] auto receive() noexcept -> bool {
    if (may_come_ == 0) return false;
    --may_come_;
    return true;
  }

  /// An item that came was used up. How many more the peer is to be granted now: 0, or enough to be worth a frame.
  [[nodiscard]] auto take() noexcept -> std::uint32_t {
    if (++taken_ < initial_credit / 2) return 0;
    may_come_ += taken_;
    return std::exchange(taken_, 0U);
  }

 private:
  static constexpr std::uint32_t most = 1U << 20;

  std::uint32_t may_send_ = initial_credit;
  std::uint32_t may_come_ = initial_credit;
  std::uint32_t taken_ = 0;  // since the last grant
  bool refused_ = false;     // an item was not sent
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
