// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/error.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::DeviceSpec;

TEST_CASE("DeviceSpec: canonical text of what was parsed", "[cluster]") {
  struct Case {
    std::string text;
    std::string canonical;
  };
  const Case cases[] = {
      {"", ""},
      {"/", ""},
      {"/job:ps", "/job:ps"},
      {"job:ps", "/job:ps"},
      {"/job:", "/job:"},
      {"/job:my-job", "/job:my-job"},
      {"//task:1//job:ps/", "/job:ps/task:1"},
      {"/job:a/job:b", "/job:b"},
      {"/replica:+3/task:-1", "/replica:3/task:-1"},
      {"/task: 1_0\t", "/task:10"},  // as Python's int() reads
      {"/cpu", "/device:CPU:*"},
      {"/cpu:0", "/device:CPU:0"},
      {"/Gpu:*", "/device:GPU:*"},
      {"/epu:7/custom", "?"},
      {"/TPU:2", "/device:TPU:2"},
      {"/device:cpu:1", "/device:CPU:1"},
      {"/device:Cpu:1", "/device:Cpu:1"},
      {"/device:mychip:*", "/device:mychip:*"},
      {"/job:w/replica:0/task:12/device:GPU:3", "/job:w/replica:0/task:12/device:GPU:3"},
      {"/:ignored/job:w", "/job:w"},
      {"/job:j/replica:foo", "?"},
      {"/task:", "?"},
      {"/task:*", "?"},
      {"/task:x/task:1", "?"},
      {"/task:1__0", "?"},
      {"/task:_1", "?"},
      {"/task:1 0", "?"},
      {"/task: ", "?"},
      {"/task:1.5", "?"},
      {"/task:99999999999999999999", "?"},
      {"/device:GPU", "?"},
      {"/device:GPU:x", "?"},
      {"/device:GPU:+-1", "?"},
      {"/device:GPU:1:2", "?"},
      {"/cpu:0/gpu:0", "?"},
      {"/jobs:ps", "?"},
      {"/fpga:0", "?"},
      {"/job", "?"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    std::error_code ec;
    const DeviceSpec spec = DeviceSpec::parse(c.text, ec);
    CHECK(ec == (c.canonical == "?" ? distrib::cluster_errc::bad_device : std::error_code{}));
    CHECK(to_string(spec) == (c.canonical == "?" ? "" : c.canonical));
    if (ec) CHECK_THROWS_WITH(DeviceSpec::parse(c.text), ContainsSubstring("'" + c.text + "': not a device"));
    else CHECK(DeviceSpec::parse(c.canonical) == spec);  // a canonical text parses to the same device
  }
}

TEST_CASE("DeviceSpec: the fields", "[cluster]") {
  const DeviceSpec nothing = DeviceSpec::parse("");
  CHECK_FALSE((nothing.job || nothing.replica || nothing.task || nothing.type || nothing.index));
  const DeviceSpec cpu = DeviceSpec::parse("/cpu");
  CHECK(cpu.type == "CPU");
  CHECK_FALSE(cpu.index);
}

TEST_CASE("DeviceSpec::merged_with: the argument wins field by field", "[cluster]") {
  struct Case {
    std::string base, other, merged;
  };
  const Case cases[] = {
      {"/job:foo/replica:0", "/task:1/device:GPU:2", "/job:foo/replica:0/task:1/device:GPU:2"},
      {"/job:a/task:1", "/job:b", "/job:b/task:1"},
      {"/device:GPU:3", "/device:CPU:*", "/device:CPU:3"},  // type and number are separate fields
      {"/task:5", "/task:0", "/task:0"},  // 0 counts as a value
      {"/job:a", "", "/job:a"},
      {"", "/job:a", "/job:a"},
  };
  for (const Case& c : cases)
    CHECK(to_string(DeviceSpec::parse(c.base).merged_with(DeviceSpec::parse(c.other))) == c.merged);
}

TEST_CASE("DeviceSpec: fields can be set and cleared", "[cluster]") {
  DeviceSpec spec;
  spec.job = "foo";
  spec.task = 3;
  spec.index = 2;
  CHECK(to_string(spec) == "/job:foo/task:3");  // a number without a type does not count
  CHECK(spec == DeviceSpec::parse("/job:foo/task:3"));
  spec.task.reset();
  spec.replica = 12;
  spec.type = "GPU";
  CHECK(to_string(spec) == "/job:foo/replica:12/device:GPU:2");
}
