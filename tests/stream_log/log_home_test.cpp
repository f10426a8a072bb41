// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/log_home.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

using distrib::detail::DirectoryHome;
using distrib::detail::StoreHome;

// What both homes do.
template <distrib::detail::LogHome Home> void check_log_home(Home one, Home other) {
  distrib::Error error;
  CHECK(one.names(error).empty());
  CHECK_FALSE(error);
  CHECK(one.add("log-1", distrib::as_bytes("first"), error));
  CHECK_FALSE(other.add("log-1", distrib::as_bytes("second"), error));
  CHECK_FALSE(error);
  CHECK(other.add("log-2", distrib::as_bytes("second"), error));
  std::vector<std::string> names = one.names(error);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"log-1", "log-2"});
  CHECK(distrib::as_text(other.read("log-1", error)) == "first");
  CHECK_FALSE(error);
  other.remove("log-1");
  other.remove("log-1");
  CHECK(one.read("log-1", error).empty());
  CHECK(error.code == distrib::failure::not_found);
  CHECK(one.place("log-1").ends_with("run/log/log-1"));
}

}  // namespace

TEST_CASE("homes of a log: a version is added once, in a directory and in a store") {
  const support::TempDirectory directory;
  const std::string path = (directory / "run/log").string();
  check_log_home(DirectoryHome{path}, DirectoryHome{path});
  const auto bucket = std::make_shared<support::MapObjects>();
  const StoreHome home{"map://bucket/run/log", support::map_stores(bucket)};
  check_log_home(home, home);
  const auto at_the_root = std::make_shared<support::MapObjects>();
  StoreHome root{"map://bucket/", support::map_stores(at_the_root)};
  distrib::Error error;
  CHECK(root.add("log-1", distrib::as_bytes("first"), error));
  CHECK(root.names(error) == std::vector<std::string>{"log-1"});
}

TEST_CASE("homes of a log: a store that cannot keep it is refused, before anything is written there") {
  distrib::Error error;
  StoreHome closed{"map://bucket/run/log", {}};
  CHECK_FALSE(closed.add("log-1", distrib::as_bytes("first"), error));
  CHECK(error.code == distrib::record_errc::no_object_store);
  CHECK(error.where == "map://bucket/run/log");
  const auto bucket = std::make_shared<support::MapObjects>();
  bucket->honours_conditions = false;
  StoreHome careless{"map://bucket/run/log", support::map_stores(bucket)};
  CHECK_FALSE(careless.add("log-1", distrib::as_bytes("first"), error));
  CHECK(error.code == distrib::stream_errc::no_conditions);
  CHECK(error.where == "map://bucket/run/log/.conditions");
  CHECK(bucket->count("run/log/log-") == 0);
}

TEST_CASE("homes of a log: a store that is away, or refuses without a reason, is named") {
  const auto bucket = std::make_shared<support::MapObjects>();
  StoreHome home{"map://bucket/run/log", support::map_stores(bucket)};
  distrib::Error error;
  CHECK(home.add("log-1", distrib::as_bytes("first"), error));
  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(home.names(error).empty());
  CHECK(error.code == distrib::failure::unavailable);
  CHECK(error.where.starts_with("map://bucket/run/log"));
  CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
  CHECK(error.code == distrib::failure::unavailable);
  // Removed by another process just after it was refused: that happens. Again and again: it does not.
  bucket->fail = [](const std::string& request) {
    return request.starts_with("put") ? support::MapObjects::mismatch() : std::error_code{};
  };
  for (int i = 0; i < 7; ++i) {
    CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
    CHECK_FALSE(error);
  }
  CHECK_FALSE(home.add("log-2", distrib::as_bytes("second"), error));
  CHECK(error.code == distrib::failure::mismatch);
}
