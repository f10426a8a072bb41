// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/directory_lock.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

using distrib::DirectoryLock;
using distrib::Error;
using distrib::ps_errc;
using namespace std::chrono_literals;

TEST_CASE("DirectoryLock: refuses a second writer with the same name, and names the process that holds the lock",
          "[ps]") {
  const support::TempDirectory folder;
  const std::string directory = folder / "not/yet";
  DirectoryLock first;
  Error error;
  first.hold(directory, "ps-0", "/job:ps/task:0", 0ms, error);
  CHECK_FALSE(error);
  first.hold(directory, "ps-0", "/job:ps/task:0", 0ms, error);  // it holds the lock already
  CHECK_FALSE(error);

  DirectoryLock other_writer;
  other_writer.hold(directory, "chief", "/job:chief/task:0", 0ms, error);
  CHECK_FALSE(error);

  DirectoryLock second;
  second.hold(directory, "ps-0", "local job", 30ms, error);
  CHECK(error.code == ps_errc::directory_in_use);
  CHECK_THAT(error.where, ContainsSubstring("local job in " + directory + ", held by process " +
                                            std::to_string(::getpid()) + " on "));
  second.hold(folder / "another", "ps-0", "local job", 0ms, error);
  CHECK_FALSE(error);
}

TEST_CASE("DirectoryLock: a waiting process gets the lock when its holder ends", "[ps]") {
  const support::TempDirectory folder;
  const std::string directory = folder.path().string();
  std::optional<DirectoryLock> first{std::in_place};
  Error error;
  first->hold(directory, "chief", "a", 0ms, error);
  std::thread ends{[&] { first.reset(); }};
  DirectoryLock second;
  second.hold(directory, "chief", "b", std::chrono::milliseconds::max(), error);  // for ever
  ends.join();
  CHECK_FALSE(error);
  DirectoryLock third;
  third.hold(directory, "chief", "c", 0ms, error);
  CHECK(error.code == ps_errc::directory_in_use);
}

TEST_CASE("DirectoryLock: the file of a killed process is no lock, and its text is not trusted", "[ps]") {
  const support::TempDirectory folder;
  const std::string directory = folder.path().string();
  std::ofstream{folder / ".chief.lock"} << "process 1 on nowhere\n\x1b[31m";
  DirectoryLock lock;
  Error error;
  lock.hold(directory, "chief", "a", 0ms, error);
  CHECK_FALSE(error);
  std::ofstream{folder / ".chief.lock"} << "process 1 on \x1b[31m";
  DirectoryLock second;
  second.hold(directory, "chief", "b", 0ms, error);
  CHECK(error.where == "b in " + directory + ", held by process 1 on ?[31m");
}

TEST_CASE("DirectoryLock: no process is refused where locks are impossible", "[ps]") {
  const support::TempDirectory folder;
  std::filesystem::create_directory(folder / ".ps-0.lock");  // a directory in place of the file: it cannot be locked
  Error error;
  DirectoryLock first;
  DirectoryLock second;
  first.hold(folder.path().string(), "ps-0", "a", 0ms, error);
  second.hold(folder.path().string(), "ps-0", "b", 0ms, error);
  CHECK_FALSE(error);
  second.hold("", "ps-0", "b", 0ms, error);
  CHECK_FALSE(error);
  std::ofstream{folder / "file"} << 1;
  first.hold(folder / "file", "ps-0", "a", 0ms, error);  // not a directory: the code that writes there will report it
  CHECK_FALSE(error);
}

TEST_CASE("DirectoryLock: a lock of another writer in the same directory is a lock of its own", "[ps]") {
  const support::TempDirectory folder;
  const std::string directory = folder.path().string();
  Error error;
  DirectoryLock first;
  DirectoryLock second;
  first.hold(directory, "ps-0", "a", 0ms, error);
  first.hold(directory, "ps-1", "a", 0ms, error);
  second.hold(directory, "ps-0", "b", 0ms, error);
  CHECK_FALSE(error);  // it was released for the other one
  DirectoryLock third;
  third.hold(directory, "ps-1", "c", 0ms, error);
  CHECK(error.code == ps_errc::directory_in_use);
}

TEST_CASE("DirectoryLock: tries again where a lock was impossible before", "[ps]") {
  const support::TempDirectory folder;
  const std::string directory = folder.path().string();
  std::filesystem::create_directory(folder / ".ps-0.lock");
  Error error;
  DirectoryLock first;
  first.hold(directory, "ps-0", "a", 0ms, error);
  std::filesystem::remove(folder / ".ps-0.lock");
  first.hold(directory, "ps-0", "a", 0ms, error);
  CHECK_FALSE(error);
  DirectoryLock second;
  second.hold(directory, "ps-0", "b", 0ms, error);
  CHECK(error.code == ps_errc::directory_in_use);
}
