// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/drive.hpp>
#include <distrib/net/page_core.hpp>
#include <distrib/net/peer_listener.hpp>
#include <distrib/net/peer_stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Serves a page over HTTP or, with a transport, HTTPS, on one executor: to at most 16 visitors at once, for at most 5
/// s each. Further visitors are disconnected. The content is asked for on the executor for each visitor, and never
/// after the destructor. It may arrive later, on the executor too.
///
/// Threads: one at a time, the executor's while that runs. Must not outlive the executor's context.
class MetricsServer {
 public:
  using Executor = PeerListener::Executor;
  static constexpr std::size_t most_visitors = 16;
  static constexpr std::chrono::seconds longest_visit{5};

  using Show = std::function<void(std::string)>;

  /// Listens from now on; port 0 takes a free port. `content` gathers the content and then calls the function that it
  /// is passed, once. Throws as the listener.
  MetricsServer(const Executor& executor, const Address& address, Page page, std::function<void(Show)> content,
                PeerListenerOptions options = {})
      : state_{std::make_shared<State>(std::move(page), std::move(content))},
        listener_{executor, address, [state = state_](PeerStream stream) { enter(state, std::move(stream)); },
                  std::move(options)} {}
  MetricsServer(const MetricsServer&) = delete;
  auto operator=(const MetricsServer&) -> MetricsServer& = delete;
  ~MetricsServer() {
    listener_.close();
    state_->content = nullptr;
    for (Visit* const visit : state_->visits) visit->close();
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

 private:
  struct Visit;

  /// Shared with the visits, so that it lives as long as they do.
  struct State {
    State(Page shown, std::function<void(Show)> gathers) : page{std::move(shown)}, content{std::move(gathers)} {}
    Page page;
    std::function<void(Show)> content;  // null: nothing is shown any more
    std::set<Visit*> visits;
  };

  struct Visit {
    Visit(std::shared_ptr<State> of, PeerStream connected)
        : state{std::move(of)}, stream{std::move(connected)}, deadline{stream.get_executor()}, core{state->page} {
      state->visits.insert(this);
    }
    Visit(const Visit&) = delete;
    auto operator=(const Visit&) -> Visit& = delete;
    ~Visit() { state->visits.erase(this); }

    void close() {
      std::error_code ignored;
      stream.lowest_layer().close(ignored);
      deadline.cancel();
    }

    std::shared_ptr<State> state;
    PeerStream stream;
    SteadyTimer deadline;
    PageCore core;
  };

  static void enter(const std::shared_ptr<State>& state, PeerStream stream) {
    if (state->visits.size() == most_visitors) return;  // the connection closes
    const auto visit = std::make_shared<Visit>(state, std::move(stream));
    visit->deadline.expires_after(longest_visit);
    visit->deadline.async_wait([visit](const std::error_code& ec) {
      if (!ec) visit->close();
    });
    drive(visit);
  }

  static void drive(const std::shared_ptr<Visit>& visit) {
    async_drive(visit->stream, visit->core, [visit](const std::error_code&) {
      if (visit->core.is_asked() && visit->state->content) return gather(visit);
      std::error_code ignored;
      visit->stream.end(ignored);
      visit->stream.lowest_layer().shutdown(TcpSocket::shutdown_both, ignored);
      visit->close();
    });
  }

  static void gather(const std::shared_ptr<Visit>& visit) {
    visit->state->content([visit](const std::string& content) {
      visit->core.show(content);
      drive(visit);  // fails at once if it took too long
    });
  }

  std::shared_ptr<State> state_;
  PeerListener listener_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
