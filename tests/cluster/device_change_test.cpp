// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/device_change.hpp>
#include <distrib/cluster/error.hpp>

#include "support/catch.hpp"

using distrib::DeviceSpec;
using distrib::replaced;

TEST_CASE("replaced: a value sets a field, nullopt clears it, other fields stay", "[cluster][device]") {
  DeviceSpec spec = replaced({}, {.job = "foo"});
  CHECK(to_string(spec) == "/job:foo");
  spec = replaced(spec, {.task = 3});
  CHECK(to_string(spec) == "/job:foo/task:3");
  spec = replaced(spec, {.type = "CPU", .index = 0});
  CHECK(to_string(spec) == "/job:foo/task:3/device:CPU:0");
  spec = replaced(spec, {.replica = 12, .task = std::nullopt});
  CHECK(to_string(spec) == "/job:foo/replica:12/device:CPU:0");
  spec = replaced(spec, {.type = std::nullopt});
  CHECK(to_string(spec) == "/job:foo/replica:12");  // a number without a type is kept, but not printed
  CHECK(to_string(replaced(spec, {.type = "TPU"})) == "/job:foo/replica:12/device:TPU:0");
  CHECK(replaced(spec, {}) == spec);
}

TEST_CASE("replaced: only cpu and gpu become upper case", "[cluster][device]") {
  CHECK(replaced({}, {.type = "cpu"}).type == "CPU");
  CHECK(replaced({}, {.type = "gpu"}).type == "GPU");
  CHECK(replaced({}, {.type = "Gpu"}).type == "Gpu");
  CHECK(replaced({}, {.type = "tpu"}).type == "tpu");
}

TEST_CASE("merge_from, parse_into: change the device itself", "[cluster][device]") {
  DeviceSpec base = DeviceSpec::parse("/job:ps/device:GPU:3");
  merge_from(base, DeviceSpec::parse("/task:0/device:CPU:*"));
  CHECK(to_string(base) == "/job:ps/task:0/device:CPU:3");

  parse_into(base, "/job:worker");
  CHECK(to_string(base) == "/job:worker");  // nothing of the old value remains
  std::error_code ec;
  parse_into(base, "/device:GPU", ec);
  CHECK(ec == distrib::cluster_errc::bad_device);
  CHECK(to_string(base) == "/job:worker");
  CHECK_THROWS_WITH(parse_into(base, "/task:x"), ContainsSubstring("'/task:x'"));
}
