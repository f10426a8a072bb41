// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/disk.hpp>

#include <distrib/checkpoint/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

using namespace distrib;

namespace {

/// A disk of its own for each seed.
struct Machine {
  explicit Machine(const support::TempDirectory& folder, std::uint64_t seed = 1)
      : dice{seed}, disk{(folder / "disk").string(), scheduler, dice} {}

  [[nodiscard]] auto path(const std::string& name) const -> std::string { return disk.directory() + "/" + name; }
  [[nodiscard]] auto write(const std::string& name, std::string_view text) const -> FileAction {
    return FileAction::write(path(name), {as_bytes(text)}, {});
  }
  void perform(const FilePlan& plan) { disk.files()(plan); }

  /// What a reader finds; "-": no such file.
  [[nodiscard]] auto read(const std::string& name) const -> std::string {
    std::ifstream file{path(name), std::ios::binary};
    return file ? std::string{std::istreambuf_iterator<char>{file}, {}} : "-";
  }

  sim::Scheduler scheduler;
  sim::Dice dice;
  sim::Disk disk;
};

}  // namespace

TEST_CASE("Disk: what a sync acknowledged survives every loss of power", "[sim]") {
  const support::TempDirectory folder;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("new", "all of it"), FileAction::sync(machine.path("new")),
                     FileAction::rename(machine.path("new"), machine.path("file")),
                     FileAction::sync_directory(machine.disk.directory())});
    machine.disk.lose_power();
    CHECK(machine.read("file") == "all of it");
    CHECK(machine.read("new") == "-");
  }
  CHECK_FALSE(std::filesystem::exists(folder / "disk"));
}

TEST_CASE("Disk: of what was not synced a loss of power leaves any prefix, or no file", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "abc")});
    CHECK(machine.read("file") == "abc");  // while there is power
    machine.disk.lose_power();
    left.insert(machine.read("file"));
  }
  CHECK(left == std::set<std::string>{"-", "", "a", "ab", "abc"});
}

TEST_CASE("Disk: a rename whose directory was not synced may be undone by a loss of power", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "old"), FileAction::sync(machine.path("file")),
                     machine.write("other", "new"), FileAction::sync(machine.path("other")),
                     FileAction::sync_directory(machine.disk.directory()),
                     FileAction::rename(machine.path("other"), machine.path("file"))});
    CHECK(machine.read("file") == "new");
    machine.disk.lose_power();
    left.insert(machine.read("file") + " " + machine.read("other"));
  }
  CHECK(left == std::set<std::string>{"old new", "new -"});
}

TEST_CASE("Disk: a removal whose directory was not synced may be undone by a loss of power", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "old"), FileAction::sync(machine.path("file")),
                     FileAction::sync_directory(machine.disk.directory()), FileAction::remove(machine.path("file"))});
    CHECK(machine.read("file") == "-");
    machine.disk.lose_power();
    left.insert(machine.read("file"));
  }
  CHECK(left == std::set<std::string>{"old", "-"});
}

TEST_CASE("Disk: a full one fails with no_room, leaves nothing of it, and has room later", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  machine.disk.fill(machine.scheduler.now() + std::chrono::seconds{5});
  try {
    machine.perform({machine.write("file", "text")});
    FAIL("there was room");
  } catch (const std::system_error& error) {
    CHECK(error.code() == checkpoint_errc::no_room);
  }
  CHECK(machine.read("file") == "-");
  machine.scheduler.after(std::chrono::seconds{6}, [] {});
  CHECK(machine.scheduler.step());
  machine.perform({machine.write("file", "text")});
  CHECK(machine.read("file") == "text");
}

TEST_CASE("Disk: a plan stops where its process dies, and a bit flips in a file at rest", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  machine.disk.stop_after(2);
  CHECK_THROWS_AS(machine.perform({machine.write("file", "text"), FileAction::sync(machine.path("file")),
                                   FileAction::rename(machine.path("file"), machine.path("other"))}),
                  sim::Disk::Stopped);
  machine.disk.go_on();
  CHECK(machine.read("file") == "text");
  CHECK(machine.read("other") == "-");
  CHECK(machine.disk.flip_bit(machine.path("file")));
  CHECK(machine.read("file") != "text");
  CHECK(machine.read("file").size() == 4);
  CHECK_FALSE(machine.disk.flip_bit(machine.path("file")));
  CHECK_FALSE(machine.disk.flip_bit(machine.path("other")));
  machine.disk.mend(machine.path("file"));
  CHECK(machine.read("file") == "text");
}
