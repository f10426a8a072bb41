// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/event_writer.hpp>

#include <distrib/record/record_reader.hpp>
#include <distrib/summary/event_reader.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using distrib::EventWriter;
using distrib::ScalarEvent;

namespace {

auto point(double wall_time, std::int64_t step, std::string tag, double value) -> ScalarEvent {
  return {wall_time, step, std::move(tag), value, "scalars", distrib::ScalarEvent::DataClass::scalar};
}

}  // namespace

TEST_CASE("EventWriter: event files have TensorFlow's names", "[summary][event_writer]") {
  CHECK(distrib::detail::event_file_name("/logs", 1465000000, "w0") == "/logs/events.out.tfevents.1465000000.w0");
  CHECK(distrib::detail::event_file_name("/logs", 5, "w0") == "/logs/events.out.tfevents.0000000005.w0");
}

TEST_CASE("EventWriter: events are in the file after flush, the version at once", "[summary][event_writer]") {
  const support::TempDirectory directory;
  EventWriter writer{directory / "runs/a"};
  CHECK(std::filesystem::path{writer.path()}.parent_path() == directory / "runs/a");
  CHECK(std::filesystem::file_size(writer.path()) == 8 + 4 + 24 + 4);

  writer.scalar("loss", 1, 0.5f, 100.0);
  writer.scalar("accuracy", 1, 0.75f, 100.0);
  writer.session_log(distrib::SessionStatus::checkpoint, 1, "model.ckpt-1");
  writer.scalar("loss", 2, 0.25f);
  writer.flush();
  const auto scalars = distrib::read_scalars(writer.path());
  REQUIRE(scalars.size() == 3);
  CHECK(scalars[0] == point(100, 1, "loss", 0.5));
  CHECK(scalars[1] == point(100, 1, "accuracy", 0.75));
  CHECK(scalars[2].wall_time > 1.6e9);

  writer.close();
  writer.close();
  std::error_code ec;
  writer.scalar("loss", 3, 0.125f, 101.0, ec);
  CHECK(ec == distrib::record_errc::closed);
  writer.flush(ec);
  CHECK(ec == distrib::record_errc::closed);
  CHECK_THROWS_AS(writer.scalar("loss", 3, 0.125f), std::system_error);
}

TEST_CASE("EventWriter: two writers of the same second use different files", "[summary][event_writer]") {
  const support::TempDirectory directory;
  EventWriter first{directory.path()};
  EventWriter second{directory.path()};
  CHECK(first.path() != second.path());
  first.scalar("loss", 1, 1.0f, 1.0);
  second.scalar("loss", 2, 2.0f, 2.0);
  first.close();
  EventWriter moved{std::move(second)};
  moved.close();
  CHECK(distrib::read_scalars(directory.path()).size() == 2);
}

TEST_CASE("EventWriter: writers that begin at the same moment use different files", "[summary][event_writer]") {
  // As in containers that share a directory: the same host name and the same process id.
  const support::TempDirectory directory;
  constexpr std::size_t threads = 8;
  constexpr std::size_t writers = 12;
  std::barrier together{threads};
  std::vector<std::string> paths(threads * writers);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      for (std::size_t i = 0; i < writers; ++i) {
        together.arrive_and_wait();
        EventWriter writer{directory.path()};
        paths[t * writers + i] = writer.path();
        writer.scalar("tag " + std::to_string(t * writers + i), 1, 1.0F, 1.0);
        writer.close();
      }
    });
  for (std::thread& thread : running) thread.join();
  CHECK(std::set<std::string>(paths.begin(), paths.end()).size() == paths.size());
  CHECK(distrib::read_scalars(directory.path()).size() == paths.size());
}

TEST_CASE("EventWriter: does not change an existing file with the next name", "[summary][event_writer]") {
  const support::TempDirectory directory;
  EventWriter first{directory.path()};
  // The names of this second and the next ones, as a writer in another container would choose them.
  std::vector<std::filesystem::path> taken;
  const std::string name = std::filesystem::path{first.path()}.filename();
  const std::size_t seconds_at = std::string{"events.out.tfevents."}.size();
  const std::int64_t seconds = std::stoll(name.substr(seconds_at, 10));
  for (std::int64_t later = 0; later < 60; ++later) {
    std::string other = name;
    other.replace(seconds_at, 10, std::to_string(seconds + later));
    other.replace(other.size() - 1, 1, "1");
    taken.push_back(directory / other);
    std::ofstream{taken.back()} << "of another host.";
  }
  EventWriter second{directory.path()};
  CHECK_FALSE(second.path().ends_with(".1"));
  for (const auto& path : taken) CHECK(std::filesystem::file_size(path) == 16);
}

TEST_CASE("EventWriter: adds encoded events; begins a new file if the file was deleted", "[summary][event_writer]") {
  const support::TempDirectory directory;
  EventWriter writer{directory.path()};
  const std::string first = writer.path();
  distrib::WireWriter event;
  distrib::write_scalar_event(event, 1.0, 1, "loss", 0.5F, distrib::ScalarForm::simple_value);
  writer.append(event.view());
  writer.flush();
  CHECK(writer.path() == first);
  CHECK(distrib::read_scalars(directory.path()) == std::vector{ScalarEvent{1.0, 1, "loss", 0.5}});

  std::filesystem::remove_all(directory.path());
  writer.scalar("loss", 2, 0.25F, 2.0);
  writer.flush();  // the event of step 2 is lost
  writer.scalar("loss", 3, 0.125F, 3.0);
  writer.close();
  CHECK(distrib::read_scalars(directory.path()) == std::vector{point(3.0, 3, "loss", 0.125)});
}

TEST_CASE("EventWriter: reports a directory that cannot be written", "[summary][event_writer]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "file"};
  std::error_code ec;
  EventWriter writer{directory / "file/below", ec};
  CHECK(ec == std::errc::not_a_directory);
  CHECK_THAT(writer.error().where, ContainsSubstring("file/below"));
  writer.scalar("loss", 1, 1.0f, 1.0, ec);
  CHECK(ec == std::errc::not_a_directory);
  writer.session_log(distrib::SessionStatus::start, 0, {}, ec);
  CHECK(ec == std::errc::not_a_directory);
  writer.close(ec);
  CHECK(ec == std::errc::not_a_directory);
  CHECK_THROWS_WITH(EventWriter{directory / "file/below"}, ContainsSubstring("file/below"));
}

TEST_CASE("EventWriter: a file in memory has the bytes of one on disk", "[summary][event_writer]") {
  const support::TempDirectory directory;
  EventWriter on_disk{directory / "a"};
  EventWriter in_memory = EventWriter::in_memory((directory / "b").string());
  for (EventWriter* writer : {&on_disk, &in_memory}) {
    writer->scalar("loss", 1, 0.5F, 100.0);
    writer->session_log(distrib::SessionStatus::start, 2);
    writer->scalar("loss", 2, 0.25F, 101.0);
    writer->flush();
    writer->close();
    CHECK_FALSE(writer->error());
  }
  CHECK(on_disk.bytes().empty());
  CHECK_FALSE(std::filesystem::exists(directory / "b"));
  CHECK(std::filesystem::path{in_memory.path()}.filename().string().starts_with("events.out.tfevents."));
  std::filesystem::create_directory(directory / "b");
  std::ofstream{in_memory.path(), std::ios::binary}.write(reinterpret_cast<const char*>(in_memory.bytes().data()),
                                                          static_cast<std::streamsize>(in_memory.bytes().size()));
  CHECK(distrib::read_scalars(in_memory.path()) == distrib::read_scalars(on_disk.path()));
  CHECK(EventWriter::in_memory("b").path() != EventWriter::in_memory("b").path());
}
