// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/background_writes.hpp>

#include <distrib/net/asio.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL BackgroundWrites::BackgroundWrites(std::string place, Write write)
    : place_{std::move(place)}, write_{std::move(write)} {}

DISTRIB_DECL void BackgroundWrites::put(const std::string& name, std::vector<std::byte> content) {
  const std::lock_guard lock{mutex_};
  waiting_[name] = std::move(content);
  begin();
}

DISTRIB_DECL void BackgroundWrites::begin() {
  if (std::exchange(busy_, true)) return;
  asio::post(pool_.executor(), [this] { run(); });
}

DISTRIB_DECL void BackgroundWrites::run() {
  std::unique_lock lock{mutex_};
  while (!waiting_.empty()) {
    auto next = waiting_.extract(waiting_.begin());
    lock.unlock();
    Error error;
    write_(next.key(), next.mapped(), error);
    lock.lock();
    last_ = error.code;
    if (!error) {
      is_told_ = false;
      continue;
    }
    failed(error);
    if (error.code == failure::unavailable || error.code == failure::timeout)
      waiting_.insert(std::move(next));  // a newer content stays
    break;
  }
  busy_ = false;
  changed_.notify_all();
}

DISTRIB_DECL void BackgroundWrites::failed(const Error& error) {
  if (std::exchange(is_told_, true)) return;
  report_ =
      Event{Event::Kind::waiting,
            {},
            place_,
            error.code,
            "not written to " + place_ + ", the training continues: " + error.where + ": " + error.code.message()};
}

DISTRIB_DECL auto BackgroundWrites::finish(std::chrono::milliseconds within) -> bool {
  constexpr std::chrono::milliseconds pause{500};
  const auto deadline = std::chrono::steady_clock::now() + within;
  std::unique_lock lock{mutex_};
  while (busy_ || !waiting_.empty()) {
    if (std::chrono::steady_clock::now() >= deadline) break;
    if (!busy_ && last_) changed_.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() + pause));
    if (!busy_) begin();
    changed_.wait_until(lock, deadline, [this] { return !busy_; });
  }
  if (!busy_ && waiting_.empty()) return !last_;
  report_ = Event{Event::Kind::waiting,
                  {},
                  place_,
                  last_,
                  "the last files were not written to " + place_ + ", which did not answer for " +
                      std::to_string(within.count() / 1000) + " s"};
  return false;
}

DISTRIB_DECL auto BackgroundWrites::report() -> std::optional<Event> {
  const std::lock_guard lock{mutex_};
  return std::exchange(report_, std::nullopt);
}

}  // namespace v0
}  // namespace distrib
