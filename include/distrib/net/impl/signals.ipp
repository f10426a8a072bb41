// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/signals.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL Signals::Signals(const asio::io_context::executor_type& executor, std::function<void()> callback)
    : watch_{std::make_shared<Watch>(executor, std::move(callback))} {
  watch_->signals.async_wait([watch = watch_](const std::error_code& ec, int) { watch->on_signal(ec); });
}

DISTRIB_DECL void Signals::Watch::on_signal(const std::error_code& ec) {
  const std::scoped_lock lock{mutex};
  if (ec || ended) return;
  restore_default_action();
  callback();
}

}  // namespace v0
}  // namespace distrib
