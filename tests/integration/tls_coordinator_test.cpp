// SPDX-License-Identifier: Apache-2.0
// A coordinator and its workers over mutual TLS.
#if __has_include(<openssl/ssl.h>)
#include "coordinator/loopback.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"
#include "support/temp_directory.hpp"

#include <distrib/net/error.hpp>
#include <distrib/net/tls/tls.hpp>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace coordinated {

TEST_CASE("ClusterCoordinator over TLS: functions run; a plain coordinator and one of another authority are refused",
          "[integration]") {
  const support::Authority authority{"authority"};
  const auto tls = distrib::Tls::from_files(authority.issue("tasks", "IP:127.0.0.1"));
  Workers workers{2, {.tls = tls}};
  const auto refusal = [&workers](const std::shared_ptr<const distrib::Transport>& of_coordinator) {
    Coordinator coordinator{workers.cluster(), {.tls = of_coordinator}};
    distrib::Error error;
    coordinator.schedule_or<Add>(error, 1, 2);  // reports the refusal if that came first
    if (!error) coordinator.join(error, 20s);
    return error.code;
  };
  CHECK(refusal(nullptr) == distrib::net_errc::no_tls);
  const support::Authority other{"other"};
  CHECK(refusal(distrib::Tls::from_files(other.issue("tasks", "IP:127.0.0.1"))) == distrib::net_errc::untrusted);

  Coordinator coordinator{workers.cluster(), {.tls = tls}};
  CHECK(coordinator.fetch(coordinator.schedule<Add>(1, 2), 20s) == 3);
  coordinator.finish();
  CHECK(workers.code(0) == 0);
  CHECK(workers.code(1) == 0);
}

TEST_CASE("FunctionWorker over TLS: a certificate for another host is refused at the start", "[integration]") {
  const support::Authority authority{"authority"};
  const auto tls = distrib::Tls::from_files(authority.issue("elsewhere", "DNS:elsewhere.example"));
  CHECK_THROWS_AS(Workers(1, {.tls = tls}), std::system_error);
}

TEST_CASE("ClusterCoordinator over TLS: both ends read changed certificate files", "[integration]") {
  const support::Authority authority{"authority"};
  const support::Authority next{"next"};
  const support::TempDirectory of_workers;
  const support::TempDirectory of_coordinator;
  authority.issue_in(of_workers.path().string(), {"IP:127.0.0.1"});
  authority.issue_in(of_coordinator.path().string(), {"IP:127.0.0.1"});
  distrib::TlsOptions often;
  often.refresh_every = std::chrono::milliseconds{1};
  Workers workers{1, {.tls = distrib::Tls::from_directory(of_workers.path().string(), often)}};
  {
    std::atomic<bool> is_told = false;
    const auto told = [&](const distrib::Event& event) {
      if (event.kind == distrib::Event::Kind::tls_refused) is_told = true;
    };
    const Coordinator coordinator{
        workers.cluster(),
        {.tls = distrib::Tls::from_directory(of_coordinator.path().string(), often), .observer = told}};
    std::filesystem::resize_file(of_coordinator / "tls.crt", 10);
    while (!is_told) std::this_thread::yield();
  }
  next.issue_in(of_workers.path().string(), {"IP:127.0.0.1"});
  const auto of_next = distrib::Tls::from_files(next.issue("coordinator", "IP:127.0.0.1"));
  distrib::Error error = {distrib::net_errc::untrusted, {}};
  const auto until = support::now() + 60s;
  while (error && support::now() < until) {
    Coordinator coordinator{workers.cluster(), {.tls = of_next}};
    coordinator.schedule_or<Add>(error, 1, 2);
    if (!error) coordinator.join(error, 20s);
    if (!error) coordinator.finish();
  }
  CHECK_FALSE(error);
  CHECK(workers.code(0) == 0);
}

}  // namespace coordinated
#endif
