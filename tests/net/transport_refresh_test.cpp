// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/transport_refresh.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"
#if __has_include(<openssl/ssl.h>)
#include "net/tls/tls_ends.hpp"
#include "support/certificates.hpp"
#include "support/temp_directory.hpp"
#endif

#include <distrib/net/error.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;

TEST_CASE("TransportRefresh: without a transport it has nothing to do", "[net]") {
  asio::io_context context{1};
  TransportRefresh refresh{context.get_executor(), nullptr, {}, {}};
  CHECK(context.run() == 0);
  refresh.stop();
}

#if __has_include(<openssl/ssl.h>)
namespace {

/// A directory of certificates that is read every millisecond, and what was reported.
struct Watched {
  explicit Watched(OwnIdentity identity = {}) : own{std::move(identity)} {
    authority.issue_in(path, {"DNS:ps0.example"});
    tls = Tls::from_directory(path, often());
  }
  static auto often() -> TlsOptions {
    TlsOptions options;
    options.refresh_every = 1ms;
    return options;
  }
  auto start() -> TransportRefresh {
    return {context.get_executor(), tls, own, [this](const Event& event) { events.push_back(event); }};
  }
  template <class Done> void run_until(const Done& done) { support::run_until(context, done); }

  support::Authority authority{"job"};
  support::TempDirectory directory;
  std::string path = directory.path().string();
  std::shared_ptr<const Tls> tls;
  OwnIdentity own;
  std::vector<Event> events;
  asio::io_context context{1};
};

}  // namespace

TEST_CASE("TransportRefresh: new files are used, refused files are reported once", "[net][tls]") {
  Watched watched{{"ps0.example", nullptr}};
  const auto refresh = watched.start();
  const auto expires = watched.tls->expires();
  watched.authority.issue_in(watched.path, {"DNS:ps7.example", -2, 9});
  watched.run_until([&] { return !watched.events.empty(); });
  for (int i = 0; i < 20; ++i) watched.context.run_one();
  REQUIRE(watched.events.size() == 1);
  CHECK(watched.events[0].kind == Event::Kind::tls_refused);
  CHECK(watched.events[0].code == net_errc::untrusted);
  CHECK_THAT(watched.events[0].text,
             ContainsSubstring("the new certificate files are not used: " + watched.path + "/tls.crt (it is for ps7"));
  CHECK(watched.tls->expires() == expires);
  watched.authority.issue_in(watched.path, {"DNS:ps0.example", -2, 9});
  watched.run_until([&] { return watched.tls->expires() > expires; });
  CHECK(watched.events.size() == 1);
}

TEST_CASE("TransportRefresh: reports a key that other users may read", "[net][tls]") {
  Watched watched;
  std::filesystem::permissions(watched.path + "/tls.key", std::filesystem::perms{0644});
  watched.tls = Tls::from_directory(watched.path, Watched::often());
  const auto refresh = watched.start();
  CHECK(watched.events.empty());
  watched.run_until([&] { return !watched.events.empty(); });
  CHECK_FALSE(watched.events[0].code);
  CHECK(watched.events[0].peer == watched.path + "/tls.key");
  CHECK_THAT(watched.events[0].text, ContainsSubstring("can be read by all users"));
}

TEST_CASE("TransportRefresh: stopped or destroyed, it leaves nothing to do", "[net][tls]") {
  Watched watched;
  const bool is_running = GENERATE(false, true);
  const bool is_destroyed = GENERATE(false, true);
  std::optional<TransportRefresh> refresh;
  refresh.emplace(watched.context.get_executor(), watched.tls, watched.own, Observer{});
  if (is_running)
    for (int i = 0; i < 3; ++i) watched.context.run_one();
  if (is_destroyed) refresh.reset();
  else refresh->stop();
  watched.context.restart();
  watched.context.run();
  CHECK(watched.tls.use_count() == 1);
}

TEST_CASE("TransportRefresh: may be stopped by its observer", "[net][tls]") {
  Watched watched;
  std::optional<TransportRefresh> refresh;
  int calls = 0;
  const auto stop = [&](const Event&) {
    ++calls;
    refresh.reset();
  };
  refresh.emplace(watched.context.get_executor(), watched.tls, watched.own, stop);
  std::filesystem::resize_file(watched.path + "/tls.crt", 10);
  watched.context.run();
  CHECK(calls == 1);
}
#endif
