// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/progress.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

using tools::Progress;

TEST_CASE("Progress: its line, and nothing in the first second") {
  std::FILE* const log = std::tmpfile();
  REQUIRE(log != nullptr);
  {
    Progress progress{3, log};
    progress.begin("a");
    progress.begin("b");
    progress.add(3 << 20);
    CHECK(progress.line(std::chrono::seconds{2}) == "2 of 3 files, 3.0 MiB, 1.5 MiB/s: b");
    CHECK(progress.line(std::chrono::seconds{0}) == "2 of 3 files, 3.0 MiB, 0 B/s: b");
  }
  CHECK(std::ftell(log) == 0);  // nothing is printed in the first second
  {
    Progress progress{1, log};
    progress.begin("one");
    progress.add(1024);
    CHECK(progress.line(std::chrono::seconds{1}) == "1.0 KiB, 1.0 KiB/s: one");
  }
  std::fclose(log);
}
