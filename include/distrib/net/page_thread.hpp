// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/page_server.hpp>
#include <distrib/net/peer_listener.hpp>

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A `PageServer` with a thread of its own, for a process whose other threads are busy. The contents are gathered on
/// that thread.
///
/// Threads: any, but its own. The destructor waits for a content that is being gathered.
class PageThread {
 public:
  /// Listens from now on. Throws as `PageServer`.
  PageThread(const Address& address, std::vector<PageServer::Served> served, PeerListenerOptions options = {}) {
    pages_.emplace(io_.get_executor(), address, std::move(served), std::move(options));
    port_ = pages_->port();
    thread_ = std::thread{[this] { io_.run(); }};
  }
  PageThread(const PageThread&) = delete;
  auto operator=(const PageThread&) -> PageThread& = delete;
  ~PageThread() {
    asio::post(io_, [this] { pages_.reset(); });
    thread_.join();
  }

  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_; }

 private:
  asio::io_context io_{1};
  std::optional<PageServer> pages_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace v0
}  // namespace distrib
