// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/device_name.hpp>
#include <distrib/cluster/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::DeviceConflict;
using distrib::DeviceSpec;
using distrib::parse_device_name;

TEST_CASE("parse_device_name: the runtime's grammar", "[cluster][device]") {
  struct Case {
    std::string text;
    std::string canonical;
  };
  const Case cases[] = {
      {"", ""},
      {"/", ""},
      {"/job:ps", "/job:ps"},
      {"/job:ps_2/replica:1/task:3/device:GPU:0", "/job:ps_2/replica:1/task:3/device:GPU:0"},
      {"/task:1/job:ps", "/job:ps/task:1"},
      {"/job:*/replica:*/task:*/device:*:*", ""},
      {"/job:a/job:*", ""},
      {"/job:a/job:b", "/job:b"},
      {"/device:GPU", "/device:GPU:*"},
      {"/device:GPU:*", "/device:GPU:*"},
      {"/device:GPU:1/device:CPU", "/device:CPU:*"},
      {"/device:gpu:1", "/device:gpu:1"},
      {"/cpu:0", "/device:CPU:0"},
      {"/GPU:*", "/device:GPU:*"},
      {"/cpu:0/gpu:1", "/device:GPU:1"},
      {"/task:007", "/task:7"},
      {"job:ps", "?"},
      {"/job:ps/", "?"},
      {"//job:ps", "?"},
      {"/job:my-job", "?"},
      {"/job:2ps", "?"},
      {"/job:_ps", "?"},
      {"/job:", "?"},
      {"/task:-1", "?"},
      {"/task:+1", "?"},
      {"/task:", "?"},
      {"/task:99999999999", "?"},
      {"/cpu", "?"},
      {"/Cpu:0", "?"},
      {"/TPU:0", "?"},
      {"/device:GPU:", "?"},
      {"/device:GPU:x", "?"},
      {"/device::0", "?"},
      {"/fpga:0", "?"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    std::error_code ec;
    const DeviceSpec spec = parse_device_name(c.text, ec);
    CHECK(ec == (c.canonical == "?" ? distrib::cluster_errc::bad_device : std::error_code{}));
    CHECK(to_string(spec) == (c.canonical == "?" ? "" : c.canonical));
    if (ec) CHECK_THROWS_WITH(parse_device_name(c.text), ContainsSubstring("'" + c.text + "': not a device"));
  }
}

TEST_CASE("is_device_name: false for devices that Python accepts and the runtime refuses", "[cluster][device]") {
  CHECK(distrib::detail::is_device_name(DeviceSpec::parse("job:ps/cpu")));
  CHECK_FALSE(distrib::detail::is_device_name(DeviceSpec::parse("/job:parameter-server")));
  CHECK_FALSE(distrib::detail::is_device_name(DeviceSpec::parse("/job:ps/task:-1")));
  CHECK_FALSE(distrib::detail::is_device_name(DeviceSpec::parse("/job:")));
}

TEST_CASE("merge_device_names: symmetric, and fails on a conflict", "[cluster][device]") {
  struct Case {
    std::string one;
    std::string other;
    std::string merged;  // "?": refused
    std::string softened;
    std::string differ;  // the kind of field that the message names
  };
  const Case cases[] = {
      {"", "", "", "", ""},
      {"/job:ps", "/task:1/device:CPU:*", "/job:ps/task:1/device:CPU:*", "/job:ps/task:1/device:CPU:*", ""},
      {"/device:GPU:1", "/device:GPU:*", "/device:GPU:1", "/device:GPU:1", ""},
      {"/job:ps", "/job:worker", "?", "?", "jobs"},
      {"/replica:0", "/replica:1", "?", "?", "replicas"},
      {"/job:ps/task:0", "/task:1", "?", "?", "tasks"},
      {"/job:ps/device:CPU:0", "/device:GPU:0", "?", "/job:ps", "types"},
      {"/device:CPU:*", "/device:GPU:1", "?", "", "types"},
      {"/job:ps/device:GPU:0", "/device:GPU:1", "?", "/job:ps/device:GPU:*", "ids"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.one, c.other);
    const DeviceSpec one = parse_device_name(c.one);
    const DeviceSpec other = parse_device_name(c.other);
    for (const bool swapped : {false, true}) {
      const DeviceSpec& first = swapped ? other : one;
      const DeviceSpec& second = swapped ? one : other;
      std::error_code ec;
      const DeviceSpec merged = merge_device_names(first, second, DeviceConflict::refuse, ec);
      CHECK(ec == (c.merged == "?" ? distrib::cluster_errc::device_conflict : std::error_code{}));
      CHECK(to_string(merged) == (c.merged == "?" ? "" : c.merged));
      if (ec) CHECK_THROWS_WITH(merge_device_names(first, second), ContainsSubstring("incompatible " + c.differ));
      const DeviceSpec soft = merge_device_names(first, second, DeviceConflict::soften, ec);
      CHECK(ec == (c.softened == "?" ? distrib::cluster_errc::device_conflict : std::error_code{}));
      CHECK(soft == parse_device_name(c.softened == "?" ? "" : c.softened));
      CHECK(soft.index == parse_device_name(c.softened == "?" ? "" : c.softened).index);
    }
  }
}
