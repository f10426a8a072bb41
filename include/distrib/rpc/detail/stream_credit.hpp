// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/frame_limits.hpp>

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Counts how many items of one call may be sent and received, in both directions, as one end knows it. A value.
class StreamCredit {
 public:
  /// Counts an item that is about to be sent. Returns false if it may not be sent now; `add` returns true when it may.
  [[nodiscard]] auto send() noexcept -> bool {
    refused_ = may_send_ == 0;
    if (!refused_) --may_send_;
    return !refused_;
  }

  /// Adds the credit that the peer has granted. Any number is allowed: the sum is limited to 2^20. Returns true if an
  /// item was refused since the last call, so that it can be sent now.
  auto add(std::uint32_t more) noexcept -> bool {
    may_send_ = more > most - may_send_ ? most : may_send_ + more;
    return std::exchange(refused_, false);
  }

  /// Counts an item that has arrived. Returns false if the peer had no credit for it.
  [[nodiscard]] auto receive() noexcept -> bool {
    if (may_come_ == 0) return false;
    --may_come_;
    return true;
  }

  /// Counts a received item that has been used. Returns how much credit to grant the peer now: 0, or enough items to be
  /// worth a frame (half of `initial_credit`).
  [[nodiscard]] auto take() noexcept -> std::uint32_t {
    if (++taken_ < initial_credit / 2) return 0;
    may_come_ += taken_;
    return std::exchange(taken_, 0U);
  }

 private:
  static constexpr std::uint32_t most = 1U << 20;

  std::uint32_t may_send_ = initial_credit;
  std::uint32_t may_come_ = initial_credit;
  std::uint32_t taken_ = 0;  // items used since the last grant
  bool refused_ = false;  // the last `send` returned false
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
