// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/files.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace detail = distrib::detail;

TEST_CASE("files: path_exists, is_directory, change_seconds", "[core]") {
  const support::TempDirectory directory;
  const std::string file = directory / "file";
  CHECK_FALSE(detail::path_exists(file));
  CHECK(detail::change_seconds(file) == 0);
  std::ofstream{file} << "text";
  CHECK(detail::path_exists(file));
  CHECK_FALSE(detail::is_directory(file));
  CHECK(detail::is_directory(directory.path()));
  CHECK(detail::change_seconds(file) > 1e9);
}

TEST_CASE("read_up_to: the beginning of a file", "[core]") {
  const support::TempDirectory directory;
  const std::string file = directory / "file";
  const std::string text(10'000, 'x');
  std::ofstream{file} << text;
  std::error_code ec;
  CHECK(detail::read_up_to(file, 5'000, ec) == text.substr(0, 5'000));
  CHECK(detail::read_up_to(file, 20'000, ec) == text);
  CHECK(detail::read_up_to(file, 0, ec).empty());
  CHECK_FALSE(ec);
  CHECK(detail::read_up_to(directory / "missing", 5, ec).empty());
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK_THAT(detail::with_reason("f", ec), ContainsSubstring("f (No such file"));
}

TEST_CASE("list_directory: all names except . and ..", "[core]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "b"} << 1;
  std::ofstream{directory / ".a"} << 1;
  std::error_code ec;
  std::vector<std::string> names = detail::list_directory(directory.path(), ec);
  std::ranges::sort(names);
  CHECK_FALSE(ec);
  CHECK(names == std::vector<std::string>{".a", "b"});
  CHECK(detail::list_directory(directory / "b", ec).empty());
  CHECK(ec == std::errc::not_a_directory);
}

TEST_CASE("make_directories: creates parents too, and accepts directories that exist", "[core]") {
  const support::TempDirectory directory;
  std::error_code ec;
  for (int times = 0; times < 2; ++times) {
    detail::make_directories(directory / "a/b/c", ec);
    CHECK_FALSE(ec);
    CHECK(detail::is_directory(directory / "a/b/c"));
  }
  std::ofstream{directory / "file"} << 1;
  detail::make_directories(directory / "file", ec);
  CHECK(ec == std::errc::not_a_directory);
  detail::make_directories(directory / "file/deeper", ec);
  CHECK(ec == std::errc::not_a_directory);
}

TEST_CASE("make_directories: in a directory that may be written and not read", "[core]") {
  const support::UnreadableDirectory directory;
  std::error_code ec;
  detail::sync_path(directory.path(), O_RDONLY | O_DIRECTORY, ec);
  CHECK(ec == std::errc::permission_denied);
  detail::make_directories(directory.path() + "/a/b", ec);
  CHECK_FALSE(ec);
  CHECK(detail::is_directory(directory.path() + "/a/b"));
}

TEST_CASE("sync_path: reports a path that cannot be made durable", "[core]") {
  const support::TempDirectory directory;
  std::error_code ec;
  detail::sync_path(directory.path(), O_RDONLY | O_DIRECTORY, ec);
  CHECK_FALSE(ec);
  detail::sync_path(directory / "missing", O_RDONLY, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
}

TEST_CASE("create_new_file: each call makes a file of its own and leaves those that exist", "[core]") {
  const support::TempDirectory directory;
  std::error_code ec;
  std::ofstream{directory / "f-1"} << "old";
  detail::NewFile first = detail::create_new_file(directory / "f-", ec);
  CHECK_FALSE(ec);
  CHECK(first.path == (directory / "f-0").string());
  CHECK(first.file.is_open());
  CHECK(detail::create_new_file(directory / "f-", ec).path == (directory / "f-2").string());
  CHECK(detail::read_up_to(directory / "f-1", 9, ec) == "old");
  const detail::NewFile none = detail::create_new_file(directory / "missing/f-", ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK(none.path == (directory / "missing/f-0").string());
  CHECK_FALSE(none.file.is_open());
}

TEST_CASE("create_hidden_file: beside the file, under a name that begins with a dot", "[core]") {
  const support::TempDirectory directory;
  std::error_code ec;
  const std::string hidden = detail::create_hidden_file(directory / "f", ec).path;
  CHECK_FALSE(ec);
  CHECK(hidden == (directory / (".f.tmp" + std::to_string(::getpid()) + "-0")).string());
  CHECK(detail::create_hidden_file(directory / "f", ec).path != hidden);
}

TEST_CASE("create_unnamed_file: the file is gone unless give_name has named it", "[core]") {
  const support::TempDirectory directory;
  const std::string path = directory / "f";
  const auto names = [&] {
    std::error_code ec;
    return detail::list_directory(directory.path(), ec);
  };
  std::error_code ec;
  detail::NewFile made = detail::create_unnamed_file(path, ec);
  CHECK_FALSE(ec);
  if (made.path.empty()) CHECK(names().empty());  // this file system has files without names
  made.file.write(std::as_bytes(std::span{"new", 3}), ec);
  std::ofstream{path} << "the old one";
  std::ofstream{directory / (".f.tmp" + std::to_string(::getpid()) + "-0")} << "of another container";
  detail::give_name(made, path, ec);
  CHECK_FALSE(ec);
  CHECK(detail::read_up_to(path, 99, ec) == "new");
  CHECK(names().size() == 2);

  const detail::NewFile none = detail::create_unnamed_file(directory / "missing/f", ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK_FALSE(none.file.is_open());
}

TEST_CASE("give_name: a file with a hidden name, and a name that cannot be given", "[core]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "taken");
  std::error_code ec;
  for (const auto create : {detail::create_hidden_file, detail::create_unnamed_file}) {
    const detail::NewFile refused = create(directory / "taken", ec);
    detail::give_name(refused, directory / "taken", ec);
    CHECK(ec == std::errc::is_a_directory);
    const detail::NewFile made = create(directory / "f", ec);
    detail::give_name(made, directory / "f", ec);
    CHECK_FALSE(ec);
    CHECK(detail::list_directory(directory.path(), ec).size() == 2);
  }
}

TEST_CASE("FileLock: held until it is destroyed", "[core]") {
  const support::TempDirectory directory;
  const std::string path = directory / "lock";
  std::error_code ec;
  const auto is_free = [&] {
    const detail::FileDescriptor other{path, O_RDWR, ec};
    return ::flock(other.get(), LOCK_EX | LOCK_NB) == 0;
  };
  {
    const detail::FileLock lock{path};
    CHECK_FALSE(is_free());
  }
  CHECK(is_free());
  const detail::FileLock none{directory / "missing/lock"};  // has no lock, and does not wait
}

TEST_CASE("absolute_path: relative to the current directory", "[core]") {
  CHECK(detail::absolute_path("/a/b") == "/a/b");
  CHECK(detail::absolute_path("").empty());
  const std::string path = detail::absolute_path("a");
  CHECK(path.front() == '/');
  CHECK(path.ends_with("/a"));
}
