// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/drive.hpp>
#include <distrib/net/page_core.hpp>
#include <distrib/net/peer_listener.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns how a `PageServer` listens. `transport`: pages are shown over HTTPS, and a visitor that speaks plain HTTP is
/// told so; null: over HTTP. `rules`: which certificates of visitors are accepted, if they show one or must.
[[nodiscard]] DISTRIB_DECL auto page_listening(std::shared_ptr<const Transport> transport, ClientRules rules)
    -> PeerListenerOptions;

/// Serves a few pages over HTTP or, with a transport, HTTPS, on one executor: to at most 16 visitors at once, for at
/// most 5 s each. Further visitors are disconnected. Pages are only read: see `PageCore` for what is answered.
///
///     PageServer pages{io.get_executor(), {"127.0.0.1", 8080}, {{{"/metrics", "text/plain"}, gather}}};
///
/// Threads: one at a time, the executor's while that runs. Must not outlive the executor's context.
class PageServer {
 public:
  using Executor = PeerListener::Executor;
  static constexpr std::size_t most_visitors = 16;
  static constexpr std::chrono::seconds longest_visit{5};

  /// Takes the content of a page. Call it once, at any time, on the executor.
  using Show = std::function<void(std::string)>;

  /// A page, and the function that gathers its content for each visitor and then calls `Show`. It is called on the
  /// executor, and never after the server's destructor.
  struct Served {
    Page page;
    std::function<void(Show)> content;
  };

  /// Listens from now on; port 0 takes a free port. Throws as the listener.
  PageServer(const Executor& executor, const Address& address, std::vector<Served> served,
             PeerListenerOptions options = {})
      : state_{std::make_shared<State>(std::move(served))},
        listener_{executor, address, [state = state_](PeerStream stream) { enter(state, std::move(stream)); },
                  std::move(options)} {}
  PageServer(const PageServer&) = delete;
  auto operator=(const PageServer&) -> PageServer& = delete;
  ~PageServer() {
    listener_.close();
    state_->served.clear();
    for (Visit* const visit : std::exchange(state_->visits, {})) visit->close();
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

 private:
  struct Visit;

  /// Shared with the visits, so that it lives as long as they do.
  struct State {
    explicit State(std::vector<Served> all) : served{std::move(all)} {}
    [[nodiscard]] auto pages() const -> std::vector<Page> {
      std::vector<Page> pages;
      for (const Served& one : served) pages.push_back(one.page);
      return pages;
    }
    std::vector<Served> served;  // empty: nothing is shown any more
    std::set<Visit*> visits;
  };

  struct Visit {
    Visit(std::shared_ptr<State> of, PeerStream connected)
        : state{std::move(of)}, stream{std::move(connected)}, deadline{stream.get_executor()}, core{state->pages()} {
      state->visits.insert(this);
    }
    Visit(const Visit&) = delete;
    auto operator=(const Visit&) -> Visit& = delete;
    ~Visit() { state->visits.erase(this); }

    /// Ends the visit: another visitor may come, although the content of this one is still being gathered.
    void close() {
      state->visits.erase(this);
      std::error_code ignored;
      stream.lowest_layer().close(ignored);
      deadline.cancel();
    }

    std::shared_ptr<State> state;
    PeerStream stream;
    detail::SteadyTimer deadline;
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
      if (visit->core.asked() && !visit->state->served.empty()) return gather(visit);
      std::error_code ignored;
      visit->stream.end(ignored);
      visit->stream.lowest_layer().shutdown(TcpSocket::shutdown_both, ignored);
      visit->close();
    });
  }

  static void gather(const std::shared_ptr<Visit>& visit) {
    visit->state->served[*visit->core.asked()].content([visit](const std::string& content) {
      visit->core.show(content);
      drive(visit);  // fails at once if it took too long
    });
  }

  std::shared_ptr<State> state_;
  PeerListener listener_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/page_server.ipp>
#endif
