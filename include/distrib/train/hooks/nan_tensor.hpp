// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/events.hpp>

#include <cmath>
#include <string>

namespace distrib {
inline namespace v0 {

/// Watches the loss of each contribution of this process, as TensorFlow's NanTensorHook. If it is NaN, throws
/// `train_errc::nan_loss` with step and rank, which ends the task before the contribution is sent; or, if
/// `fail_on_nan_loss` is false, asks to stop. An infinite loss does not count.
///
/// Compare `with_check_numerics`, which looks at gradients and ends the whole job on all tasks.
class NanTensor {
 public:
  explicit NanTensor(bool fail_on_nan_loss = true) noexcept : fails_{fail_on_nan_loss} {}

  void on_contribution(const ContributionMade& event) {
    if (!std::isnan(event.loss)) return;
    const std::string where = "step " + std::to_string(event.step) + " of worker " + std::to_string(event.rank);
    if (fails_) throw_error(train_errc::nan_loss, where);
    reason_ = "NaN loss at " + where;
  }

  /// Returns where the loss was NaN; empty if it was not.
  [[nodiscard]] auto stop_reason() const -> std::string { return reason_; }

 private:
  bool fails_;
  std::string reason_;
};

}  // namespace v0
}  // namespace distrib
