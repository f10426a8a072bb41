// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/object_uploads.hpp>

#include <distrib/net/asio.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ObjectUploads::ObjectUploads(const std::string& url, const OpenObjectStore& open) {
  Error error;
  directory_ = open_directory(url, open, error);
  throw_if(error);
}

DISTRIB_DECL void ObjectUploads::put(const std::string& name, std::vector<std::byte> bytes) {
  const std::lock_guard lock{mutex_};
  waiting_[name] = std::move(bytes);
  begin();
}

DISTRIB_DECL void ObjectUploads::begin() {
  if (std::exchange(busy_, true)) return;
  asio::post(pool_.executor(), [this] { run(); });
}

DISTRIB_DECL void ObjectUploads::run() {
  std::unique_lock lock{mutex_};
  while (!waiting_.empty()) {
    auto next = waiting_.extract(waiting_.begin());
    lock.unlock();
    Error error;
    directory_.store.put(directory_.root.empty() ? next.key() : directory_.root + '/' + next.key(), next.mapped(),
                         error);
    lock.lock();
    last_ = error.code;
    if (!error) {
      is_told_ = false;
      continue;
    }
    failed(error);
    if (may_pass(error.code)) waiting_.insert(std::move(next));  // a newer content stays
    break;
  }
  busy_ = false;
  changed_.notify_all();
}

DISTRIB_DECL void ObjectUploads::failed(const Error& error) {
  if (std::exchange(is_told_, true)) return;
  report_ = Event{
      Event::Kind::waiting,
      {},
      directory_.url,
      error.code,
      "not written to " + directory_.url + ", the training continues: " + error.where + ": " + error.code.message()};
}

DISTRIB_DECL auto ObjectUploads::finish(std::chrono::milliseconds within) -> bool {
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
                  directory_.url,
                  last_,
                  "the last files were not written to " + directory_.url + ", which did not answer for " +
                      std::to_string(within.count() / 1000) + " s"};
  return false;
}

DISTRIB_DECL auto ObjectUploads::report() -> std::optional<Event> {
  const std::lock_guard lock{mutex_};
  return std::exchange(report_, std::nullopt);
}

}  // namespace v0
}  // namespace distrib
