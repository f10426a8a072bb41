// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/detail/replace_file.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using distrib::as_bytes;
using distrib::detail::replace_file;

TEST_CASE("replace_file: writes the parts; of several writers one wins, and nothing is left",
          "[record][replace_file]") {
  const support::TempDirectory directory;
  const std::string path = directory / "file";
  std::vector<std::thread> writers;
  for (const char c : {'a', 'b', 'c'})
    writers.emplace_back([&path, c] {
      for (int i = 0; i < 50; ++i) {
        const std::string part(100'000, c);
        std::error_code ec;
        replace_file(path, {as_bytes(part), as_bytes(part)}, ec);
        if (ec) throw std::system_error{ec};
      }
    });
  for (std::thread& writer : writers) writer.join();
  const std::string content = support::read_file(path);
  CHECK(content.size() == 200'000);
  CHECK((content == std::string(200'000, content.front())));
  for (const auto& entry : std::filesystem::directory_iterator{directory.path()})
    CHECK(entry.path().filename() == "file");
}

TEST_CASE("replace_file: leaves the file of a process with the same number in another container",
          "[record][replace_file]") {
  const support::TempDirectory directory;
  const std::string number = std::to_string(::getpid());
  const std::string others[] = {directory / (".file." + number + "-" + std::to_string(::gettid())),
                                directory / (".file.tmp" + number + "-0")};
  for (const std::string& other : others) support::write_file(other, "unfinished");
  std::error_code ec;
  replace_file(directory / "file", {as_bytes("new")}, ec);
  CHECK(!ec);
  CHECK(support::read_file(directory / "file") == "new");
  for (const std::string& other : others) CHECK(support::read_file(other) == "unfinished");
}

TEST_CASE("replace_file: on failure the old file stays, and nothing else", "[record][replace_file]") {
  const support::TempDirectory directory;
  std::error_code ec;
  replace_file(directory / "missing/file", {as_bytes("new")}, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  std::filesystem::create_directory(directory / "file");
  replace_file(directory / "file", {as_bytes("new")}, ec);
  CHECK(ec == std::errc::is_a_directory);
  for (const auto& entry : std::filesystem::directory_iterator{directory.path()})
    CHECK(entry.path().filename() == "file");
}
