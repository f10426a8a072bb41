// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/event_reader.hpp>

#include <distrib/record/record_writer.hpp>
#include <distrib/summary/event_writer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

using distrib::Error;
using distrib::ScalarEvent;
using distrib::summary_errc;

namespace {

// A file of these events, each given by what writes it.
template <class... Writers>
void write_events(const std::filesystem::path& path, const Writers&... writers) {
  distrib::RecordWriter file{path};
  distrib::WireWriter event;
  (..., (writers(event), file.append(event.view())));
  file.close();
}

const auto version = [](distrib::WireWriter& out) { distrib::write_version_event(out, 1.0); };

auto point(double wall_time, std::int64_t step) {
  return [=](distrib::WireWriter& out) { distrib::write_scalar_event(out, wall_time, step, "loss", 0.5f); };
}

auto error_of(const std::filesystem::path& path) -> std::error_code {
  Error error;
  static_cast<void>(distrib::read_scalars(path, error));
  if (error) CHECK_THAT(error.where, ContainsSubstring(path.filename().string()));
  std::error_code ec;
  static_cast<void>(distrib::read_scalars(path, ec));
  CHECK(ec == error.code);
  if (error) CHECK_THROWS_AS(distrib::read_scalars(path), std::system_error);
  return error.code;
}

}  // namespace

TEST_CASE("events of TensorFlow 2 are read", "[summary][event_reader]") {
  const auto scalars = distrib::read_scalars(support::test_dir() + "/summary/fixtures");
  REQUIRE(scalars.size() == 20);
  for (std::size_t step = 0; step < 10; ++step) {
    CHECK(scalars[2 * step].tag == "loss");
    CHECK(scalars[2 * step].step == static_cast<std::int64_t>(step));
    CHECK(scalars[2 * step].value == double{1.0f / static_cast<float>(step + 1)});
    CHECK(scalars[2 * step + 1].tag == "acc");
    CHECK(scalars[2 * step + 1].value == double{static_cast<float>(0.1 * static_cast<double>(step))});
    CHECK(scalars[2 * step].wall_time > 1795242076);
  }
}

TEST_CASE("files of a directory are joined in the order of time", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  write_events(directory / "events.out.tfevents.2.b", version, point(20, 2), point(20, 3), point(5, 4));
  write_events(directory / "events.out.tfevents.1.a", version, point(10, 0), point(20, 1), point(nan, 9));
  std::ofstream{directory / "notes.txt"} << "no events";
  std::filesystem::create_directory(directory / "tfevents");
  std::vector<std::int64_t> steps;
  for (const ScalarEvent& scalar : distrib::read_scalars(directory.path())) steps.push_back(scalar.step);
  CHECK(steps == std::vector<std::int64_t>{4, 0, 1, 2, 3, 9});
}

TEST_CASE("a file whose last record is cut ends before it", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto path = directory / "events.out.tfevents.1.a";
  write_events(path, version, point(1, 1), point(2, 2));
  const auto size = std::filesystem::file_size(path);
  for (auto cut = size - 1; cut > size / 2 + 20; --cut) {
    std::filesystem::resize_file(path, cut);
    REQUIRE(distrib::read_scalars(path).size() == 1);
  }
  std::filesystem::resize_file(path, 0);
  CHECK(distrib::read_scalars(path).empty());  // killed before the version was written
}

TEST_CASE("what is no event file, or a damaged one", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto text = [](const char* version_text) {
    return [=](distrib::WireWriter& out) {
      out.clear();
      out.text(3, version_text);
    };
  };
  const auto rubbish = [](distrib::WireWriter& out) {
    out.clear();
    out.raw_number(std::uint8_t{0x0b});
  };
  write_events(directory / "points", point(1, 1));
  CHECK(error_of(directory / "points") == summary_errc::not_events);
  write_events(directory / "rubbish", rubbish);
  CHECK(error_of(directory / "rubbish") == summary_errc::not_events);
  write_events(directory / "version", text("brain.Event:3"));
  CHECK(error_of(directory / "version") == summary_errc::unknown_version);
  write_events(directory / "damaged", version, point(1, 1), rubbish);
  CHECK(error_of(directory / "damaged") == summary_errc::corrupt_event);

  write_events(directory / "flipped", version, point(1, 1));
  std::fstream{directory / "flipped", std::ios::in | std::ios::out}.seekp(60).put('x');
  CHECK(error_of(directory / "flipped") == distrib::failure::corrupt);

  std::filesystem::create_directory(directory / "empty");
  CHECK(error_of(directory / "empty") == summary_errc::no_event_files);
  CHECK(error_of(directory / "none") == std::errc::no_such_file_or_directory);
}

TEST_CASE("what was read before a failure is returned", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto path = directory / "events.out.tfevents.1.a";
  write_events(path, version, point(1, 1), [](distrib::WireWriter& out) { out.raw_number(std::uint8_t{0x0b}); });
  Error error;
  CHECK(distrib::read_scalars(path, error).size() == 1);
  CHECK(error.code == summary_errc::corrupt_event);
  CHECK_THAT(error.where, ContainsSubstring("record 2"));
}
