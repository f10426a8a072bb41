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

/// Waits, in slices, as long as nobody wants to stop.
inline void pause_for(std::chrono::milliseconds pause, const std::atomic<bool>* stop) {
  constexpr std::chrono::milliseconds slice{50};
  for (; pause.count() > 0 && (stop == nullptr || !*stop); pause -= slice)
    std::this_thread::sleep_for(std::min(pause, slice));
}

/// Does what `core` wants until it is done or has failed; `error` is then its. Bytes of the body that it accepts go to
/// `take`. Where `stop` becomes true meanwhile, `error` is `http_errc::stopped`.
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

/// The same; the body is as long as `to`, and is put there.
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
