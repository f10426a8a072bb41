// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/device_scopes.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::DeviceScopes;
using distrib::DeviceSpec;
using distrib::OpRequest;

TEST_CASE("DeviceScopes: the innermost scope applies first, outer ones fill in what it leaves open",
          "[placement][device]") {
  DeviceScopes scopes;
  CHECK(scopes.device({.device = "as it is"}) == "as it is");
  const auto job = scopes.enter("/job:worker/task:1/device:GPU:2");
  CHECK(scopes.device({}) == "/job:worker/task:1/device:GPU:2");
  {
    const auto cpu = scopes.enter(DeviceSpec::parse("/cpu:0"));
    CHECK(scopes.depth() == 2);
    CHECK(scopes.device({}) == "/job:worker/task:1/device:CPU:0");
    CHECK(scopes.device({.device = "/job:ps"}) == "/job:ps/task:1/device:CPU:0");
    const auto nothing = scopes.enter("");
    CHECK(scopes.device({}) == "/job:worker/task:1/device:CPU:0");
  }
  CHECK(scopes.depth() == 1);
  CHECK(scopes.device({}) == "/job:worker/task:1/device:GPU:2");
}

TEST_CASE("DeviceScopes: outer scopes do not count inside enter_none", "[placement][device]") {
  DeviceScopes scopes;
  const auto outer = scopes.enter("/job:worker");
  const auto none = scopes.enter_none();
  CHECK(scopes.device({}).empty());
  CHECK(scopes.device({.device = "cpu:0"}) == "cpu:0");  // not parsed
  const auto inner = scopes.enter("/task:3");
  CHECK(scopes.device({.device = "cpu:0"}) == "/task:3/device:CPU:0");
}

TEST_CASE("DeviceScopes: a function may return any device", "[placement][device]") {
  DeviceScopes scopes;
  std::string seen;
  const auto outer = scopes.enter("/job:worker/task:7");
  const auto function = scopes.enter([&](const OpRequest& request) -> std::string {
    seen = request.device;
    return request.op == "VarHandleOp" ? "/job:ps" : "";
  });
  const auto inner = scopes.enter("/device:GPU:0");
  CHECK(scopes.device({}) == "/job:ps/task:7");  // the function has removed what the inner scope chose
  CHECK(seen == "/device:GPU:0");
  CHECK(scopes.device({.op = "MatMul"}) == "/job:worker/task:7");
}

TEST_CASE("DeviceScopes: a ReplicaDeviceSetter keeps its state across scopes", "[placement][device]") {
  DeviceScopes scopes;
  auto setter = distrib::replica_device_setter({.ps_tasks = 2, .worker_device = "/job:worker/task:1"});
  const auto scope = scopes.enter([&](const OpRequest& request) { return setter(request); });
  CHECK(scopes.device({}) == "/job:ps/task:0");
  CHECK(scopes.device({.op = "MatMul", .device = "/gpu:0"}) == "/job:worker/task:1/device:GPU:0");
  const auto cpu = scopes.enter("/cpu:0");
  CHECK(scopes.device({}) == "/job:ps/task:1/device:CPU:0");
  const auto moon = scopes.enter("/job:moon");
  CHECK(scopes.device({}) == "/job:moon/device:CPU:0");  // does not call the strategy
}

TEST_CASE("DeviceScopes: refuses texts that are no device", "[placement][device]") {
  DeviceScopes scopes;
  CHECK_THROWS_WITH(scopes.enter("/task:x"), ContainsSubstring("'/task:x'"));
  CHECK(scopes.depth() == 0);
  const auto scope = scopes.enter("/job:ps");
  std::error_code ec;
  CHECK(scopes.device({.device = "/device:GPU"}, ec).empty());
  CHECK(ec == distrib::cluster_errc::bad_device);
  CHECK_THROWS_WITH(scopes.device({.name = "w", .device = "?"}), ContainsSubstring("the device of 'w'"));
}
