// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/directories.hpp>

#include "checkpoint/checkpoint_support.hpp"
#include "support/temp_directory.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

using distrib::checkpoint_errc;
using distrib::Error;

TEST_CASE("directories are made with the missing ones above them", "[checkpoint][directories]") {
  const support::TempDirectory directory;
  const std::string path = directory / "a/b/c";
  Error error;
  distrib::make_directories(path, error);
  CHECK_FALSE(error);
  CHECK(std::filesystem::is_directory(path));
  distrib::make_directories(path + "/", error);  // exists already
  CHECK_FALSE(error);

  support::write_file(directory / "file", "");
  distrib::make_directories(directory / "file/below", error);
  CHECK(error.code == checkpoint_errc::cannot_write);
  CHECK_THAT(error.where, ContainsSubstring("file/below (Not a directory)"));

  distrib::make_writable_directory(directory / "d/e", error);
  CHECK_FALSE(error);
  CHECK(std::filesystem::is_directory(directory / "d/e"));
  distrib::make_writable_directory("/proc", error);  // exists, but no file can be made in it
  CHECK((error.code == checkpoint_errc::cannot_write || ::access("/proc", W_OK) == 0));
}
