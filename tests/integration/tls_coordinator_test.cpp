// SPDX-License-Identifier: Apache-2.0
// A coordinator and its workers over mutual TLS.
#include "coordinator/loopback.hpp"
#include "support/catch.hpp"
#include "support/certificates.hpp"

#include <distrib/net/error.hpp>
#include <distrib/net/tls/tls.hpp>

namespace coordinated {

TEST_CASE("ClusterCoordinator over TLS: functions run; a plain coordinator and one of another authority are refused",
          "[integration]") {
  const support::Authority authority{"authority"};
  const auto tls = distrib::Tls::from_files(authority.issue("tasks", "IP:127.0.0.1"));
  Workers workers{2, {.tls = tls}};
  const auto refusal = [&workers](const std::shared_ptr<const distrib::Transport>& of_coordinator) {
    Coordinator coordinator{workers.cluster(), {.tls = of_coordinator}};
    distrib::Error error;
    coordinator.schedule_or<Add>(error, 1, 2);
    coordinator.join(error, 20s);
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

}  // namespace coordinated
