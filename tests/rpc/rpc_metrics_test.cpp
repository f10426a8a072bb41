// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_metrics.hpp>

#include <distrib/net/error.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"

using distrib::failure;
using distrib::Instant;
using distrib::ObservedCall;
using distrib::rpc_errc;
using distrib::RpcMetrics;
using messages::Echo;
using messages::Store;
using namespace std::chrono_literals;

namespace {

using Metrics = RpcMetrics<Echo, Store>;
static_assert(distrib::CallObserver<Metrics>);
static_assert(std::is_trivially_copyable_v<Metrics>);

void call(Metrics& metrics, std::uint32_t method, std::chrono::milliseconds time, std::error_code code = {}) {
  ObservedCall call;
  call.method = method;
  call.request_bytes = 10;
  metrics.started(call);
  call.ended = call.began + time;
  call.reply_bytes = 100;
  metrics.ended(call, code);
}

}  // namespace

TEST_CASE("RpcMetrics: counts by method and by failure condition", "[rpc]") {
  Metrics metrics;
  call(metrics, Echo::id, 1ms);
  call(metrics, Echo::id, 3ms);
  call(metrics, Echo::id, 1h, rpc_errc::deadline_passed);
  call(metrics, Echo::id, 1h, distrib::net_errc::refused);
  call(metrics, Store::id, 5ms, make_error_code(std::errc::io_error));
  call(metrics, 7, 9ms);
  ObservedCall open;
  open.method = Store::id;
  metrics.started(open);

  const auto& echo = metrics.of<Echo>();
  CHECK(echo.started == 4);
  CHECK(echo.ended == 4);
  CHECK(echo.in_flight() == 0);
  CHECK(echo.failed() == 2);
  CHECK(echo.failed(failure::timeout) == 1);
  CHECK(echo.failed(failure::unavailable) == 1);
  CHECK(echo.request_bytes == 40);
  CHECK(echo.reply_bytes == 400);
  CHECK(echo.latency.count() == 2);
  CHECK(echo.latency.sum() == 4ms);
  CHECK(metrics.of<Store>().in_flight() == 1);
  CHECK(metrics.of<Store>().failed(failure::io) == 1);
  REQUIRE(Metrics::methods() == 2);
  CHECK(metrics[2].ended == 1);
  CHECK(Metrics::name(0) == "test.Echo");
  CHECK(Metrics::name(2) == "other");
}

TEST_CASE("RpcMetrics: the metrics of several threads are added together", "[rpc]") {
  Metrics one;
  Metrics other;
  Metrics both;
  for (Metrics* metrics : {&one, &both}) call(*metrics, Echo::id, 1ms);
  for (Metrics* metrics : {&other, &both}) {
    call(*metrics, Echo::id, 2ms, rpc_errc::lost);
    call(*metrics, Store::id, 3ms);
  }
  CHECK_FALSE(one == both);
  one += other;
  CHECK(one == both);
}
