// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/disk.hpp>

#include <distrib/checkpoint/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using namespace distrib;

namespace {

/// A simulated machine with a disk; each seed has its own.
struct Machine {
  explicit Machine(const support::TempDirectory& folder, std::uint64_t seed = 1)
      : dice{seed}, disk{(folder / "disk").string(), scheduler, dice} {}

  [[nodiscard]] auto path(const std::string& name) const -> std::string { return disk.directory() + "/" + name; }
  [[nodiscard]] auto write(const std::string& name, std::string_view text) const -> FileAction {
    return FileAction::write(path(name), {as_bytes(text)}, {});
  }
  void perform(const FilePlan& plan) { disk.files()(plan); }

  /// Returns what a reader finds in a file; "-": there is no such file.
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

TEST_CASE("Disk: appended bytes may be lost, and not what was synced before them", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine{folder, seed};
    const auto more = [&](std::string_view text) {
      return FileAction::append(machine.path("file"), {as_bytes(text)}, {std::byte{'!'}});
    };
    machine.perform({machine.write("file", "ab"), more("c"), FileAction::sync(machine.path("file")),
                     FileAction::sync_directory(machine.disk.directory()), more("d")});
    CHECK(machine.read("file") == "abc!d!");
    machine.disk.lose_power();
    left.insert(machine.read("file"));
  }
  CHECK(left == std::set<std::string>{"abc!", "abc!d", "abc!d!"});
}

TEST_CASE("Disk: a loss of power leaves any prefix of a file that was not synced, or no file", "[sim]") {
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

TEST_CASE("Disk: while full, a write fails with no_room and leaves no file; later it succeeds", "[sim]") {
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

TEST_CASE("Disk: what a loss of power left stays as it is, also at the next one", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "old"), FileAction::sync(machine.path("file")),
                     machine.write("gone", "gone"), FileAction::sync(machine.path("gone")),
                     FileAction::sync_directory(machine.disk.directory()), machine.write("other", "new"),
                     FileAction::rename(machine.path("other"), machine.path("file")),
                     FileAction::remove(machine.path("gone"))});
    const auto seen = [&] { return machine.read("file") + " " + machine.read("other") + " " + machine.read("gone"); };
    machine.disk.lose_power();
    const std::string after = seen();
    for (int i = 0; i < 3; ++i) {
      machine.disk.lose_power();
      CHECK(seen() == after);
    }
    left.insert(after);
  }
  CHECK(left.size() > 4);
}

TEST_CASE("Disk: it is full until the latest time that was given", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  const auto begun = machine.scheduler.now();
  machine.disk.fill(begun + std::chrono::seconds{10});
  machine.disk.fill(begun + std::chrono::seconds{5});
  const auto advance = [&](std::chrono::seconds to) {
    machine.scheduler.at(begun + to, [] {});
    CHECK(machine.scheduler.step());
  };
  advance(std::chrono::seconds{6});
  CHECK(machine.disk.is_full());
  CHECK_THROWS_AS(machine.perform({machine.write("file", "text")}), std::system_error);
  advance(std::chrono::seconds{10});
  CHECK_FALSE(machine.disk.is_full());
  machine.perform({machine.write("file", "text")});
}

TEST_CASE("Disk: a bit flips only in a file that is durable", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  machine.perform({machine.write("file", "text"), machine.write("empty", "")});
  CHECK_FALSE(machine.disk.flip_bit(machine.path("file")));
  CHECK(machine.read("file") == "text");
  machine.perform({FileAction::sync(machine.path("file")), FileAction::sync(machine.path("empty"))});
  CHECK(machine.disk.flip_bit(machine.path("file")));
  CHECK_FALSE(machine.disk.flip_bit(machine.path("empty")));
  machine.perform({machine.write("file", "text")});  // written again: not durable, and without the flipped bit
  CHECK_FALSE(machine.disk.flip_bit(machine.path("file")));
  CHECK(machine.read("file") == "text");
}

TEST_CASE("Disk: after a loss of power a bit may flip in every file that is left, and in no other", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (const bool synced : {false, true}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      CAPTURE(synced, seed);
      Machine machine{folder, seed};
      machine.perform({machine.write("file", "text")});
      if (synced) machine.perform({FileAction::sync(machine.path("file"))});
      machine.disk.lose_power();
      const std::string text = machine.read("file");  // "-": there is no file
      left.insert(text);
      CHECK(machine.disk.flip_bit(machine.path("file")) == (text != "-" && !text.empty()));
    }
  }
  CHECK(left == std::set<std::string>{"-", "", "t", "te", "tex", "text"});
}

TEST_CASE("Disk: writing over a durable file loses the old bytes at once", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "old"), FileAction::sync(machine.path("file")),
                     FileAction::sync_directory(machine.disk.directory()), machine.write("file", "ne")});
    machine.disk.lose_power();
    left.insert(machine.read("file"));
  }
  CHECK(left == std::set<std::string>{"", "n", "ne"});
}

TEST_CASE("Disk: a link is a second name of the same file, and may be undone by a loss of power", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine{folder, seed};
    const auto seen = [&] { return machine.read("one") + " " + machine.read("two") + " " + machine.read("three"); };
    machine.perform({machine.write("one", "text"), FileAction::sync(machine.path("one")),
                     FileAction::sync_directory(machine.disk.directory()),
                     FileAction::link(machine.path("one"), machine.path("two"))});
    CHECK(seen() == "text text -");
    machine.disk.lose_power();
    left.insert(seen());
    machine.perform({FileAction::link(machine.path("one"), machine.path("two")),
                     FileAction::sync_directory(machine.disk.directory()), FileAction::remove(machine.path("one")),
                     FileAction::sync_directory(machine.disk.directory()), machine.write("three", "other"),
                     FileAction::sync(machine.path("three")),
                     FileAction::link(machine.path("three"), machine.path("two")),  // "two" exists, and stays as it is
                     FileAction::sync_directory(machine.disk.directory())});
    machine.disk.lose_power();
    CHECK(seen() == "- text other");
  }
  CHECK(left == std::set<std::string>{"text - -", "text text -"});
}

TEST_CASE("Disk: a plan that fails removes what it wrote, except what it has renamed", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  const FileAction fails = FileAction::rename(machine.path("missing"), machine.path("nowhere"));
  CHECK_THROWS_AS(
      machine.perform({machine.write("a", "1"), FileAction::rename(machine.path("a"), machine.path("b")),
                       machine.write("c", "2"), machine.write("d", "3"), machine.write("e", "4"),
                       FileAction::rename(machine.path("e"), machine.path("d")), fails, machine.write("f", "5")}),
      std::system_error);
  CHECK(machine.read("a") == "-");
  CHECK(machine.read("b") == "1");
  CHECK(machine.read("c") == "-");
  CHECK(machine.read("d") == "4");
  CHECK(machine.read("e") == "-");
  CHECK(machine.read("f") == "-");  // the plan did not get to it
  CHECK_THROWS_AS(machine.perform({FileAction::link(machine.path("missing"), machine.path("b"))}), std::system_error);
  machine.perform({FileAction::sync(machine.path("missing")), FileAction::remove(machine.path("missing"))});
  CHECK(machine.read("b") == "1");
}

TEST_CASE("Disk: its directory must not exist, and a file is written from all buffers of the plan", "[sim]") {
  const support::TempDirectory folder;
  Machine machine{folder};
  CHECK_THROWS_AS((sim::Disk{machine.disk.directory(), machine.scheduler, machine.dice}), std::system_error);
  machine.perform(
      {FileAction::write(machine.path("file"), {as_bytes("a "), as_bytes("text")}, {std::byte{'!'}, std::byte{'!'}})});
  CHECK(machine.read("file") == "a text!!");
  CHECK(machine.disk.files().now() == 1e9 + 3600);  // the clock starts at one hour
  machine.scheduler.after(std::chrono::milliseconds{1500}, [] {});
  CHECK(machine.scheduler.step());
  CHECK(machine.disk.files().now() == 1e9 + 3601.5);
}

TEST_CASE("Disk: a plan that dies has done the actions before, and nothing is removed", "[sim]") {
  const support::TempDirectory folder;
  for (std::size_t actions = 0; actions < 4; ++actions) {
    CAPTURE(actions);
    Machine machine{folder};
    machine.disk.stop_after(actions);
    CHECK_THROWS_AS(machine.perform({machine.write("a", "1"), machine.write("b", "2"), machine.write("c", "3"),
                                     machine.write("d", "4"), machine.write("e", "5")}),
                    sim::Disk::Stopped);
    CHECK(machine.read("a") == (actions > 0 ? "1" : "-"));
    CHECK(machine.read("c") == (actions > 2 ? "3" : "-"));
    CHECK(machine.read("d") == (actions > 3 ? "4" : "-"));
    CHECK_THROWS_AS(machine.perform({machine.write("f", "6")}), sim::Disk::Stopped);
    machine.disk.go_on();
    machine.perform({machine.write("f", "6")});
  }
}

TEST_CASE("Disk: any one bit of a file may flip, once, and again after it was flipped back", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::pair<int, int>> flipped;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Machine machine{folder, seed};
    const std::string file = machine.path("file");
    const std::string zeros(2, '\0');
    machine.perform({machine.write("file", zeros), FileAction::sync(file)});
    machine.disk.mend(file);  // no bit is flipped yet
    CHECK(machine.read("file") == zeros);
    for (int i = 0; i < 2; ++i) {
      REQUIRE(machine.disk.flip_bit(file));
      const std::string text = machine.read("file");
      REQUIRE(text.size() == 2);
      flipped.emplace(static_cast<unsigned char>(text[0]), static_cast<unsigned char>(text[1]));
      CHECK_FALSE(machine.disk.flip_bit(file));
      machine.disk.mend(machine.path("other"));
      machine.disk.mend(file);
      CHECK(machine.read("file") == zeros);
    }
  }
  CHECK(flipped.size() == 16);
  for (const auto& [first, second] : flipped) CHECK(((first == 0) != (second == 0)));
}

TEST_CASE("Disk: when full, a write has written any part of the file, also as seen under its other name", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("one", "old"), FileAction::link(machine.path("one"), machine.path("two"))});
    machine.disk.fill(machine.scheduler.now() + std::chrono::seconds{1});
    CHECK_THROWS_AS(machine.perform({machine.write("three", "abc")}), std::system_error);
    CHECK(machine.read("three") == "-");
    CHECK_THROWS_AS(machine.perform({machine.write("one", "abc")}), std::system_error);
    CHECK(machine.read("one") == "-");
    CHECK(std::string_view{"abc"}.starts_with(machine.read("two")));  // while there is power
    machine.disk.lose_power();
    left.insert(machine.read("two"));
  }
  CHECK(left == std::set<std::string>{"-", "", "a", "ab", "abc"});
}

TEST_CASE("Disk: when full, an append has added any part of its bytes", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("file", "old")});
    machine.disk.fill(machine.scheduler.now() + std::chrono::seconds{1});
    CHECK_THROWS_AS(machine.perform({FileAction::append(machine.path("file"), {as_bytes("abc")}, {})}),
                    std::system_error);
    left.insert(machine.read("file"));
  }
  CHECK(left == std::set<std::string>{"old", "olda", "oldab", "oldabc"});
}

TEST_CASE("Disk: all names of one file show the same bytes, also after a loss of power", "[sim]") {
  const support::TempDirectory folder;
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine{folder, seed};
    machine.perform({machine.write("one", "old"), FileAction::link(machine.path("one"), machine.path("two")),
                     FileAction::link(machine.path("two"), machine.path("three")), machine.write("two", "abc")});
    for (const char* name : {"one", "two", "three"}) CHECK(machine.read(name) == "abc");
    machine.disk.lose_power();
    std::set<std::string> seen;
    for (const char* name : {"one", "two", "three"})
      if (const std::string text = machine.read(name); text != "-") seen.insert(text);
    CHECK(seen.size() <= 1);
    left.insert(seen.begin(), seen.end());
  }
  CHECK(left == std::set<std::string>{"", "a", "ab", "abc"});
}
