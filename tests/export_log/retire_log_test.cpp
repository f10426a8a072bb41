// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/retire_log.hpp>

#include "support/catch.hpp"
#include "support/exported_job.hpp"
#include "support/temp_directory.hpp"

#include <memory>

TEST_CASE("what is older than the base before the newest base goes, and the rest stays readable") {
  const support::TempDirectory directory;
  const std::string path = (directory / "log").string();
  std::unique_ptr<support::ExportedJob> job;
  for (std::uint64_t step = 1; step <= 9; ++step) {
    // A process that starts without a cut begins with a base.
    if (step % 3 == 1) job = std::make_unique<support::ExportedJob>(path, 2, step);
    job->rows[step] = {1, 2, 3, static_cast<float>(step)};
    job->export_at(step);
  }
  distrib::Error error;
  const auto before = distrib::list_log(job->log(), 100, error);
  REQUIRE(before.size() == 9);
  CHECK(before[2].manifest.is_base());
  CHECK(!before[3].manifest.is_base());
  CHECK(before[5].manifest.is_base());
  CHECK(distrib::retire_log(job->log(), error) == 3);
  CHECK(!error);
  const auto after = distrib::list_log(job->log(), 100, error);
  REQUIRE(after.size() == 6);
  CHECK(after.back().manifest.position == 4);
  for (const distrib::LogEntry& entry : after)
    for (const distrib::LogPart& part : entry.manifest.parts)
      CHECK(job->log().get(part.name, part.bytes, error).size() == part.bytes);
  (void)job->log().get(before.back().manifest.parts[1].name, 1 << 20, error);
  CHECK(error.code == distrib::export_errc::missing_object);
  CHECK(distrib::retire_log(job->log(), error) == 0);
}
