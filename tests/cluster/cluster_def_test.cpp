// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/cluster_def.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

using distrib::cluster_errc;
using distrib::ClusterSpec;

TEST_CASE("ClusterDef: TensorFlow's bytes, with jobs by name and tasks by index", "[cluster]") {
  const ClusterSpec cluster = ClusterSpec::from_sparse({{"worker", {{2, "w"}}}, {"ps", {{0, "p"}}}});
  const auto bytes = write_cluster_def(cluster);
  // job { name: "ps" tasks { key: 0 value: "p" } } job { name: "worker" tasks { key: 2 value: "w" } }
  const std::string_view expected{
      "\x0a\x0b\x0a\x02ps\x12\x05\x08\x00\x12\x01p"
      "\x0a\x0f\x0a\x06worker\x12\x05\x08\x02\x12\x01w",
      30};
  CHECK(distrib::as_text(bytes) == expected);
  CHECK(distrib::parse_cluster_def(bytes) == cluster);
  CHECK(distrib::parse_cluster_def({}) == ClusterSpec{});
}

TEST_CASE("ClusterDef: bytes that are not a ClusterDef are refused", "[cluster]") {
  const auto refused = [](std::string_view bytes) {
    std::error_code ec;
    CHECK_FALSE(distrib::parse_cluster_def(distrib::as_bytes(bytes), ec));
    return ec;
  };
  using namespace std::string_view_literals;
  CHECK(refused("\x0a\x0b\x0a\x02ps"sv) == cluster_errc::bad_cluster_def);                                // cut off
  CHECK(refused("\x0a\x06\x0a\x02ps\x12\x05"sv) == cluster_errc::bad_cluster_def);  // the cut is inside a task
  CHECK(refused("\x0a\x04\x0a\x02ps\x0a\x04\x0a\x02ps"sv) == cluster_errc::duplicate_job);
  const std::string_view negative{"\x0a\x14\x0a\x02ps\x12\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01p",
                                  22};
  CHECK(refused(negative) == cluster_errc::bad_cluster_def);
  CHECK_THROWS_WITH(distrib::parse_cluster_def(distrib::as_bytes("\x0a\x7f"sv)), ContainsSubstring("ClusterDef"));
}
