// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/summary_file.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <distrib/summary/event_reader.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

using distrib::EventWriter;

TEST_CASE("SummaryFile: events of several writes are in one file until it is told to begin anew", "[train]") {
  const support::TempDirectory directory;
  distrib::SummaryFile file{directory.path().string()};
  const auto point = [&file](int step, bool closes = false) {
    file.write([step](EventWriter& writer, std::error_code& ec) { writer.scalar("loss", step, 1, {}, ec); }, closes);
  };
  const auto files = [&directory] {
    return std::distance(std::filesystem::directory_iterator{directory.path()}, std::filesystem::directory_iterator{});
  };
  CHECK_FALSE(file.is_open());
  point(1);
  point(2);
  CHECK(file.is_open());
  CHECK(files() == 1);
  file.begin_anew();
  point(3, true);
  CHECK(files() == 2);
  CHECK(distrib::read_scalars(directory.path()).size() == 3);
  CHECK_FALSE(file.report());  // a full disk: see the tests of WriteSummaries
}

TEST_CASE("SummaryFile: a failure other than a full disk is thrown", "[train]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "file"} << "no directory";
  distrib::SummaryFile file{(directory / "file").string()};
  CHECK_THROWS_AS(file.write([](EventWriter&, std::error_code&) {}), std::system_error);
}
