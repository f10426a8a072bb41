// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/log_home.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest home of a log: it has nothing and takes nothing.
struct EmptyLogHome {
  static auto names(distrib::Error& error) -> std::vector<std::string> {
    error = {};
    return {};
  }
  static auto read(const std::string&, distrib::Error& error) -> std::vector<std::byte> {
    error = {};
    return {};
  }
  static auto add(const std::string&, distrib::ByteView, distrib::Error& error) -> bool {
    error = {};
    return false;
  }
  static void remove(const std::string&) {}
  static auto place(const std::string& name) -> std::string { return name; }
};

struct HomeThatOverwrites : EmptyLogHome {
  static void add(const std::string&, distrib::ByteView, distrib::Error&) {}
};

}  // namespace

TEST_CASE("a home of a log has versions that are added once") {
  STATIC_REQUIRE(distrib::detail::LogHome<EmptyLogHome>);
  STATIC_REQUIRE(!distrib::detail::LogHome<HomeThatOverwrites>);
}
