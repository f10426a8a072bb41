// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/step_counter.hpp>

#include <chrono>
#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void StepCounter::on_step(const StepDone& event) {
  const auto now = std::chrono::steady_clock::now();
  if (!timer_.should_trigger_for_step(event.step, now)) return;
  const auto passed = timer_.update_last_triggered_step(event.step, now);
  if (!passed || passed->time.count() <= 0) return;
  const auto rate = static_cast<float>(static_cast<double>(passed->steps) / passed->time.count());
  file_.write([&](EventWriter& writer, std::error_code& ec) {
    writer.scalar(tag, static_cast<std::int64_t>(event.step), rate, {}, ec);
  });
}

}  // namespace v0
}  // namespace distrib
