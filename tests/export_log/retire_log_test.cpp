// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/retire_log.hpp>

#include "support/catch.hpp"
#include "support/exported_job.hpp"
#include "support/temp_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

TEST_CASE("a position whose bases a later one names counts as a base, and the bases of what is removed go with it") {
  const support::TempDirectory directory;
  support::ExportedJob job{(directory / "log").string(), 2, 1, {}, 4};
  std::vector<std::vector<std::string>> bases;
  for (std::uint64_t step = 1; step <= 14; ++step) {
    job.rows[step] = {1, 2, 3, static_cast<float>(step)};
    job.export_at(step);
    if (step % 4 == 2) bases.push_back(job.write_bases());  // of two steps before
  }
  REQUIRE(bases.size() == 4);
  CHECK(bases[0].empty());
  distrib::Error error;
  const auto list = distrib::list_log(job.log(), 100, error);
  REQUIRE(list.size() == 14);
  CHECK(list[2].manifest.bases.at(1).label == 8);  // of position 12 it is said from position 15 on
  const std::vector<bool> places = distrib::places_to_begin(list);
  for (std::size_t at = 0; at < list.size(); ++at) {
    CAPTURE(at);
    const std::uint64_t position = list[at].manifest.position;
    CHECK(places[at] == (position == 1 || position == 4 || position == 8));
  }
  const auto exists = [&](const std::string& name) {
    distrib::Error missing;
    (void)job.log().get(name, 1 << 20, missing);
    return !missing;
  };
  CHECK(distrib::retire_log(job.log(), error) == 3);
  for (const auto& names : bases)
    for (const std::string& name : names) CHECK(exists(name));
  CHECK(distrib::list_log(job.log(), 100, error).back().manifest.position == 4);
  job.export_at(15);
  CHECK(distrib::retire_log(job.log(), error) == 4);
  CHECK(!error);
  CHECK(distrib::list_log(job.log(), 100, error).back().manifest.position == 8);
  for (const std::string& name : bases[1]) CHECK_FALSE(exists(name));
  for (std::size_t later : {2U, 3U})
    for (const std::string& name : bases[later]) CHECK(exists(name));
  CHECK(distrib::retire_log(job.log(), error) == 0);
}
