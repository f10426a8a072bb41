// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/device_filters.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

using distrib::cluster_errc;
using distrib::ClusterDeviceFilters;
using distrib::DeviceSpec;
using Texts = std::vector<std::string>;

TEST_CASE("ClusterDeviceFilters: a task sees its own devices and those that match a filter", "[cluster]") {
  ClusterDeviceFilters filters;
  filters.set({"worker", 1}, {"/job:ps", "/job:worker/task:2"});
  const auto sees = [&](const char* device) { return filters.sees({"worker", 1}, DeviceSpec::parse(device)); };
  CHECK(sees("/job:worker/task:1/device:GPU:0"));
  CHECK(sees("/job:ps/task:5"));
  CHECK(sees("/job:worker/task:2"));
  CHECK_FALSE(sees("/job:worker/task:0"));
  CHECK(filters.sees({"worker", 0}, DeviceSpec::parse("/job:worker/task:1")));  // this task has no filters
  CHECK(filters.filters({"worker", 1}) == Texts{"/job:ps", "/job:worker/task:2"});

  std::error_code ec;
  filters.set({"worker", 1}, {"/job:ps", "nonsense"}, ec);
  CHECK(ec == cluster_errc::bad_device);
  CHECK(filters.filters({"worker", 1}).size() == 2);
  filters.set({"worker", 1}, {});
  CHECK(filters.tasks().empty());
}

TEST_CASE("ps_device_filters: workers see only parameter servers, and parameter servers see only workers",
          "[cluster]") {
  const auto filters =
      distrib::detail::ps_device_filters({{"ps", {"p:1"}}, {"worker", {"w:1", "w:2"}}, {"chief", {"c:1"}}});
  CHECK(filters.filters({"worker", 1}) == Texts{"/job:ps"});
  CHECK(filters.filters({"chief", 0}) == Texts{"/job:ps"});
  CHECK(filters.filters({"ps", 0}) == Texts{"/job:chief", "/job:worker"});
  CHECK(filters.tasks().size() == 4);
}

TEST_CASE("ClusterDeviceFilters: written to bytes and read back", "[cluster]") {
  ClusterDeviceFilters filters;
  filters.set({"worker", 1}, {"/job:ps", "/job:worker/task:2"});
  filters.set({"worker", 0}, {"/job:ps"});
  filters.set({"ps", 0}, {"/job:worker"});
  const auto bytes = distrib::detail::write_device_filters(filters);
  CHECK(distrib::detail::parse_device_filters(bytes) == filters);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    std::error_code ec;
    const auto part = distrib::detail::parse_device_filters(distrib::ByteView{bytes}.first(size), ec);
    CHECK((ec || part != filters));
  }
}
