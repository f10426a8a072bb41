// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/remote/http_client.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Waits for `pause`, in slices of 50 ms, and returns early if `*stop` becomes true.
inline void pause_for(std::chrono::milliseconds pause, const std::atomic<bool>* stop) {
  constexpr std::chrono::milliseconds slice{50};
  for (; pause.count() > 0 && (stop == nullptr || !*stop); pause -= slice)
    std::this_thread::sleep_for(std::min(pause, slice));
}

/// Performs what `core` requests until it is done or has failed; a failure is copied to `error`. Passes the bytes of
/// the body that the core accepts to `take`. If `*stop` becomes true meanwhile, sets `error` to `http_errc::stopped`.
template <class Core>
void take_http_steps(HttpClient& client, Core& core, const std::function<void(ByteView)>& take, Error& error,
                     const std::atomic<bool>* stop = nullptr) {
  const auto stopped = [stop] { return stop != nullptr && *stop; };
  const HttpTake accept = [&](const HttpAnswer& answer, ByteView bytes) {
    if (stopped()) return false;
    const auto count = static_cast<std::size_t>(core.accept(answer, bytes.size()));
    if (count != 0) take(bytes.first(count));
    return count == bytes.size();
  };
  error = {};
  while (!stopped()) {
    const HttpStep step = core.next();
    switch (step.kind) {
      case HttpStep::Kind::done: return;
      case HttpStep::Kind::failed: error = core.error(); return;
      case HttpStep::Kind::wait: pause_for(step.pause, stop); break;
      case HttpStep::Kind::send: {
        Error lost;
        const HttpAnswer answer = client.send(step.request, core.streams() ? accept : HttpTake{}, lost);
        core.ended(answer, lost);
        break;
      }
    }
  }
  error = {http_errc::stopped, "read ahead"};
}

/// Takes the steps of `core` as `take_http_steps` does, and copies the body to `to`, which must be as long as the body.
template <class Core>
void fill_by_http_steps(HttpClient& client, Core& core, std::span<std::byte> to, Error& error,
                        const std::atomic<bool>& stop) {
  const auto take = [&to](ByteView bytes) {
    std::memcpy(to.data(), bytes.data(), bytes.size());
    to = to.subspan(bytes.size());
  };
  take_http_steps(client, core, take, error, &stop);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
