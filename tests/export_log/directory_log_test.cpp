// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/directory_log.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

TEST_CASE("a directory keeps objects as they were written first") {
  const support::TempDirectory directory;
  const distrib::DirectoryLog log{(directory / "log").string()};
  distrib::Error error;
  CHECK(!log.read_head(error));
  CHECK(error.code == distrib::export_errc::no_log);
  log.put("parts/a", distrib::as_bytes("first"), error);
  REQUIRE(!error);
  log.put("parts/a", distrib::as_bytes("second"), error);
  CHECK(!error);
  CHECK(distrib::as_text(distrib::ByteView{log.get("parts/a", 5, error)}) == "first");
  CHECK(!error);
  CHECK(log.get("parts/a", 4, error).empty());
  CHECK(error.code == distrib::export_errc::bad_object);
  (void)log.get("parts/b", 4, error);
  CHECK(error.code == distrib::export_errc::missing_object);
  log.remove("parts/a", error);
  CHECK(!error);
  log.remove("parts/a", error);
  CHECK(!error);
  CHECK(!log.read_head(error));
  CHECK(!error);
}

TEST_CASE("the head of a directory is replaced only from the version that was read") {
  const support::TempDirectory directory;
  const distrib::DirectoryLog log{(directory / "log").string()};
  distrib::Error error;
  const distrib::LogHead first{5, 0, "", {1}};
  CHECK(log.swap_head("", first, error));
  CHECK(!log.swap_head("", first, error));
  CHECK(!error);
  const auto read = log.read_head(error);
  REQUIRE(read);
  CHECK(read->head == first);
  CHECK(log.swap_head(read->version, {5, 0, "", {2}}, error));
  CHECK(!log.swap_head(read->version, {5, 0, "", {3}}, error));
  CHECK(log.read_head(error)->head.epochs[0] == 2);

  std::ofstream{directory / "log/head"} << "{}";
  CHECK(!log.read_head(error));
  CHECK(error.code == distrib::export_errc::bad_object);
  CHECK(error.where.find("/log/head") != std::string::npos);
}

TEST_CASE("of writers that replace a head at the same time, each counts once") {
  const support::TempDirectory directory;
  constexpr int writers = 4;
  constexpr int times = 25;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i)
      threads.emplace_back([&] {
        const distrib::DirectoryLog log{directory.path().string()};
        for (int done = 0; done < times;) {
          distrib::Error error;
          const auto read = log.read_head(error);
          distrib::LogHead next = read ? read->head : distrib::LogHead{1, 0, "", {0}};
          ++next.epochs[0];
          done += log.swap_head(read ? read->version : "", next, error) ? 1 : 0;
        }
      });
  }
  distrib::Error error;
  CHECK(distrib::DirectoryLog{directory.path().string()}.read_head(error)->head.epochs[0] == writers * times);
}
