// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/event_runs.hpp"

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace {

/// A directory of runs. `texts` returns paths relative to it.
struct LogDirectory {
  support::TempDirectory directory;

  void run(const std::string& name) const {
    fs::create_directories(directory / name);
    std::ofstream{directory / (name + "/events.out.tfevents.1.a")};
  }
  void link(const std::string& name, const fs::path& to) const {
    fs::create_directories((directory / name).parent_path());
    fs::create_directory_symlink(to, directory / name);
  }
  [[nodiscard]] auto texts(const auto& paths) const -> std::string {
    std::string text;
    for (const std::string& path : paths)
      (text += text.empty() ? "" : " ") += fs::path{path}.lexically_relative(directory.path()).string();
    return text;
  }
  [[nodiscard]] auto found(std::size_t most = 1000) const -> tools::EventRuns {
    return tools::EventRunSearch{most}.find(directory.path().string());
  }
};

}  // namespace

TEST_CASE("EventRunSearch: finds directories with event files, in and below the root", "[tools]") {
  const LogDirectory log;
  log.run("a/b");
  log.run("a");
  fs::create_directories(log.directory / "empty");
  std::ofstream{log.directory / "empty/notes.txt"};
  std::ofstream{log.directory / "empty/._events.out.tfevents.1.a"};
  fs::create_directories(log.directory / "empty/tfevents");
  CHECK(log.texts(log.found().directories) == "a a/b");
  log.run(".");
  CHECK(log.texts(log.found().directories) == ". a a/b");
}

TEST_CASE("EventRunSearch: links are followed", "[tools]") {
  const LogDirectory log;
  const LogDirectory elsewhere;
  elsewhere.run("one/train");
  elsewhere.run("two");
  log.link("best", elsewhere.directory / "one");
  log.link("last", elsewhere.directory / "two");
  log.link("same", elsewhere.directory / "two");
  fs::create_directories(log.directory / "files");
  fs::create_symlink(elsewhere.directory / "two/events.out.tfevents.1.a",
                     log.directory / "files/events.out.tfevents.1.a");
  const tools::EventRuns found = log.found();
  CHECK(log.texts(found.directories) == "best/train files last same");
  CHECK(found.loops.empty());
  CHECK(found.dead_links.empty());
  CHECK(found.failures.empty());
}

TEST_CASE("EventRunSearch: the search continues after loops and dead links", "[tools]") {
  const LogDirectory log;
  log.run("a");
  log.link("a/up", "..");
  log.link("a/self", "self");
  log.link("b/to_c", "../c");
  log.link("c/to_b", "../b");
  log.link("gone", "nowhere");
  log.run("z");
  const tools::EventRuns found = log.found();
  CHECK(log.texts(found.directories) == "a z");
  CHECK(log.texts(found.loops) == "a/self a/up b/to_c/to_b c/to_b/to_c");
  CHECK(log.texts(found.dead_links) == "gone");
  CHECK(found.failures.empty());
}

TEST_CASE("EventRunSearch: a huge number of linked paths stops at the limit", "[tools]") {
  const LogDirectory log;
  for (char from = 'a'; from < 'k'; ++from)
    for (char to = 'a'; to < 'k'; ++to) log.link(std::string(1, from) + "/" + to, std::string{"../"} + to);
  const tools::EventRuns found = log.found(500);
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].code == std::errc::too_many_symbolic_link_levels);
}

TEST_CASE("EventRunSearch: a directory that does not exist is a failure", "[tools]") {
  const tools::EventRuns found = tools::EventRunSearch{}.find("nowhere");
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].where == "nowhere");
}
