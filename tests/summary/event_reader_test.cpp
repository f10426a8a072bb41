// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/event_reader.hpp>

#include <distrib/record/record_writer.hpp>
#include <distrib/summary/event_writer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <vector>

using distrib::Error;
using distrib::ScalarEvent;
using distrib::summary_errc;

namespace {

// Writes a file of events; each writer encodes one.
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

auto version_text(const char* text) {
  return [=](distrib::WireWriter& out) {
    out.clear();
    out.text(3, text);
  };
}

const auto empty_event = [](distrib::WireWriter& out) { out.clear(); };

const auto rubbish_event = [](distrib::WireWriter& out) {
  out.clear();
  out.raw_number(std::uint8_t{0x0b});
};

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

TEST_CASE("read_scalars: reads events that TensorFlow 2 wrote", "[summary][event_reader]") {
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

TEST_CASE("read_scalars: joins the files of a directory in the order of time", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  write_events(directory / "events.out.tfevents.2.b", version, point(20, 3), point(20, 4), point(5, 5));
  write_events(directory / "events.out.tfevents.1.a", version, point(10, 0), point(20, 1), point(nan, 2));
  std::ofstream{directory / "notes.txt"} << "no events";
  std::filesystem::create_directory(directory / "tfevents");
  std::vector<std::int64_t> steps;
  for (const ScalarEvent& scalar : distrib::read_scalars(directory.path())) steps.push_back(scalar.step);
  CHECK(steps == std::vector<std::int64_t>{5, 0, 1, 3, 4, 2});
}

TEST_CASE("read_run: leaves out points from before the run went back to an earlier step", "[summary][event_reader]") {
  const support::TempDirectory directory;
  write_events(directory / "events.out.tfevents.1.a", version, point(10, 1), point(11, 2), point(12, 3));
  write_events(directory / "events.out.tfevents.2.a", version, point(20, 2), point(21, 3));
  std::vector<double> times;
  for (const ScalarEvent& scalar : distrib::read_scalars(directory.path())) times.push_back(scalar.wall_time);
  CHECK(times == std::vector<double>{10, 20, 21});
  CHECK(distrib::read_run(directory.path()).superseded.at("loss") == 2);
  CHECK(distrib::read_run(directory.path(), {.keep_superseded = true}).scalars.size() == 5);

  distrib::EventWriter writer{directory / "marked"};
  writer.scalar("loss", 80, 1, 1.0);
  writer.scalar("accuracy", 90, 1, 2.0);
  writer.session_log(distrib::SessionStatus::start, 81);
  writer.scalar("loss", 81, 1, 3.0);
  writer.close();
  const distrib::RunEvents marked = distrib::read_run(directory / "marked");
  CHECK(marked.scalars.size() == 2);
  CHECK(marked.superseded == std::map<std::string, std::uint64_t>{{"accuracy", 1}});
}

TEST_CASE("read_run: a file that cannot be read does not affect the others", "[summary][event_reader]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "events.out.tfevents.1.a"} << "garbage garbage garbage";
  write_events(directory / "events.out.tfevents.2.a", version, point(1, 1), rubbish_event, point(2, 2));
  write_events(directory / "events.out.tfevents.3.a", version, point(3, 3));
  distrib::RunEvents run = distrib::read_run(directory.path());
  CHECK(run.scalars.size() == 2);
  REQUIRE(run.failures.size() == 2);
  CHECK(run.failures[0].code == distrib::record_errc::corrupt_length);
  CHECK_THAT(run.failures[0].where, ContainsSubstring("tfevents.1.a: record 0 at offset 0"));
  CHECK(run.failures[1].code == summary_errc::corrupt_event);
  CHECK_THAT(run.failures[1].where, ContainsSubstring("tfevents.2.a: record 2 at offset "));
  Error error;
  CHECK(distrib::read_scalars(directory.path(), error).size() == 2);
  CHECK(error.where == run.failures[0].where);

  for (const char* stray : {"._events.out.tfevents.1.a", ".events.out.tfevents.1.a.Xy12", "events.out.tfevents.1.a~",
                            "events.out.tfevents.1.a.tmp", "events.out.tfevents.1.a.part"})
    std::filesystem::copy_file(directory / "events.out.tfevents.1.a", directory / stray);
  std::filesystem::remove(directory / "events.out.tfevents.1.a");
  std::filesystem::remove(directory / "events.out.tfevents.2.a");
  std::filesystem::create_symlink("nowhere", directory / "events.out.tfevents.0.link");
  REQUIRE(::mkfifo((directory / "events.out.tfevents.0.pipe").c_str(), 0600) == 0);  // reading it would block
  run = distrib::read_run(directory.path());
  CHECK(run.failures.empty());
  CHECK(run.scalars.size() == 1);
  std::filesystem::create_symlink("events.out.tfevents.3.a", directory / "events.out.tfevents.4.link");
  CHECK(distrib::read_run(directory.path(), {.keep_superseded = true}).scalars.size() == 2);
}

TEST_CASE("read_scalars: reads files with any version", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto path = directory / "file";
  const auto read = [&](const auto&... events) {
    write_events(path, events...);
    return distrib::read_scalars(path).size();
  };
  CHECK(read(point(1, 1), point(2, 2)) == 2);  // no version
  CHECK(read(empty_event, version, point(1, 1)) == 1);  // the version after an empty event
  CHECK(read(point(1, 1), version, point(2, 2)) == 2);  // the version after a point
  CHECK(read(version_text("brain.Event:1"), point(1, 1)) == 1);
  CHECK(read(version_text("brain.Event:3"), point(1, 1)) == 1);
  CHECK(read(version_text("who knows"), point(1, 1)) == 1);
  CHECK(read(empty_event) == 0);
  CHECK(read(version) == 0);
}

TEST_CASE("read_scalars: a truncated last record ends the file without an error", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto path = directory / "events.out.tfevents.1.a";
  write_events(path, version, point(1, 1), point(2, 2));
  const auto size = std::filesystem::file_size(path);
  for (auto cut = size - 1; cut > size / 2 + 20; --cut) {
    std::filesystem::resize_file(path, cut);
    REQUIRE(distrib::read_scalars(path).size() == 1);
  }
  std::filesystem::resize_file(path, 0);
  CHECK(distrib::read_scalars(path).empty());  // the process was killed before it wrote the version
}

TEST_CASE("read_scalars: refuses other files and damaged events", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto example = [](distrib::WireWriter& out) {  // features { feature { key: "a" value { int64 1 } } }
    out.clear();
    out.text(1, "\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x01");
  };
  write_events(directory / "examples", example, example);
  CHECK(error_of(directory / "examples") == summary_errc::not_events);
  write_events(directory / "rubbish", rubbish_event);
  CHECK(error_of(directory / "rubbish") == summary_errc::not_events);
  write_events(directory / "damaged", version, point(1, 1), rubbish_event);
  CHECK(error_of(directory / "damaged") == summary_errc::corrupt_event);

  write_events(directory / "flipped", version, point(1, 1));
  std::fstream{directory / "flipped", std::ios::in | std::ios::out}.seekp(60).put('x');
  CHECK(error_of(directory / "flipped") == distrib::failure::corrupt);

  std::filesystem::create_directory(directory / "empty");
  CHECK(error_of(directory / "empty") == summary_errc::no_event_files);
  CHECK(error_of(directory / "none") == std::errc::no_such_file_or_directory);
}

TEST_CASE("read_scalars: returns what was read before a failure", "[summary][event_reader]") {
  const support::TempDirectory directory;
  const auto path = directory / "events.out.tfevents.1.a";
  write_events(path, version, point(1, 1), [](distrib::WireWriter& out) { out.raw_number(std::uint8_t{0x0b}); });
  Error error;
  CHECK(distrib::read_scalars(path, error).size() == 1);
  CHECK(error.code == summary_errc::corrupt_event);
  CHECK_THAT(error.where, ContainsSubstring("record 2"));
}
