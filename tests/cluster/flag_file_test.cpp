// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/flag_file.hpp>

#include <distrib/cluster/error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using distrib::cluster_errc;
using distrib::Error;
using distrib::read_flag_files;
using Strings = std::vector<std::string>;
using Arguments = std::vector<const char*>;

namespace {

class Files {
 public:
  /// Writes a file and returns its path.
  auto operator()(const std::string& name, const std::string& text) const -> std::string {
    std::ofstream{path(name), std::ios::binary} << text;
    return path(name);
  }
  [[nodiscard]] auto path(const std::string& name) const -> std::string { return (directory_ / name).string(); }

 private:
  support::TempDirectory directory_;
};

auto arguments_of(const std::vector<std::string>& texts, Error& error) -> Strings {
  Arguments arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  return read_flag_files(arguments, error);
}

}  // namespace

TEST_CASE("read_flag_files: the lines replace the argument that names the file", "[cluster][flags]") {
  const Files files;
  const std::string more = files("more", "--nested\n");
  const std::string path =
      files("flags", "# who\n\n  --job_name=worker \t\r\n// where\n--ps_hosts=a:1,b:1\n--flagfile=" + more +
                         "\n--data=a directory");
  const Strings expected{"--first",  "--job_name=worker",  "--ps_hosts=a:1,b:1",
                         "--nested", "--data=a directory", "last"};
  const Strings forms[] = {{"--flagfile=" + path}, {"-flagfile=" + path}, {"--flagfile", path}, {"-flagfile", path}};
  for (const Strings& form : forms) {
    Strings given{"--first"};
    given.insert(given.end(), form.begin(), form.end());
    given.emplace_back("last");
    Error error;
    CHECK(arguments_of(given, error) == expected);
    CHECK_FALSE(error);
  }
}

TEST_CASE("read_flag_files: other arguments are not changed", "[cluster][flags]") {
  const Files files;
  const std::string path = files("flags", "--one\n");
  Error error;
  const Strings given{"a", "--flagfiles=x", "--", "--flagfile=" + path, "--flagfile", path};
  CHECK(arguments_of(given, error) == given);
  CHECK(arguments_of({}, error).empty());
  CHECK(arguments_of({"--flagfile=" + path, "--flagfile=" + path}, error) == Strings{"--one", "--one"});
  CHECK(arguments_of({"--flagfile=" + files("empty", "")}, error).empty());
  CHECK_FALSE(error);
}

TEST_CASE("read_flag_files: ~ is the home directory", "[cluster][flags]") {
  const Files files;
  files("home_flags", "--one\n");
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  ::setenv("HOME", files.path(".").c_str(), 1);
  Error error;
  CHECK(arguments_of({"--flagfile=~/home_flags"}, error) == Strings{"--one"});
  CHECK_FALSE(error);
  if (before == nullptr) ::unsetenv("HOME");
  else ::setenv("HOME", home.c_str(), 1);
}

TEST_CASE("read_flag_files: errors name the file", "[cluster][flags]") {
  const Files files;
  const std::string one = files.path("one");
  const std::string two = files("two", "--flagfile=" + one + "\n");
  files("one", "--flag\n--flagfile=" + two + "\n");
  // Each of 16 files names the next one ten times: without a limit, 10^15 files would be read.
  for (int i = 0; i < 16; ++i) {
    const std::string next = "--flagfile=" + files.path("d" + std::to_string(i + 1)) + "\n";
    std::string text;
    for (int again = 0; again < 10; ++again) text += next;
    files("d" + std::to_string(i), text);
  }
  files("d16", "\n");
  struct Case {
    Strings arguments;
    std::error_code code;
    std::string where;
  };
  const Case cases[] = {
      {{"--flagfile"}, cluster_errc::missing_value, "--flagfile"},
      {{"--flagfile=" + one}, cluster_errc::bad_flag_file, "--flagfile=" + one + ": includes itself"},
      {{"--flagfile=" + files.path("none")},
       std::make_error_code(std::errc::no_such_file_or_directory),
       "--flagfile=" + files.path("none")},
      {{"--flagfile="}, std::make_error_code(std::errc::no_such_file_or_directory), "--flagfile="},
      {{"--flagfile=" + files.path(".")},
       std::make_error_code(std::errc::is_a_directory),
       "--flagfile=" + files.path(".")},
      {{"--flagfile=" + files("zero", std::string("--a\0", 4))},
       cluster_errc::bad_flag_file,
       "--flagfile=" + files.path("zero") + ": not text"},
      {{"--flagfile=" + files("long", std::string((std::size_t{1} << 20) + 1, 'a'))},
       cluster_errc::bad_flag_file,
       "--flagfile=" + files.path("long") + ": more than 1 MiB together with the files before"},
  };
  for (const Case& c : cases) {
    Error error;
    CHECK(arguments_of(c.arguments, error).empty());
    CHECK(error.code == c.code);
    CHECK(error.where == c.where);
  }
  Error error;
  CHECK(arguments_of({"--flagfile=" + files.path("d0")}, error).empty());
  CHECK(error.where ==
        "--flagfile=" + files.path("d16") + ": the 17th file of a chain in which each file includes the next one");
  CHECK(arguments_of({"--flagfile=" + files.path("d1")}, error).empty());
  CHECK(error.where.ends_with(": more than 1 MiB together with the files before"));
  const std::string largest = files("largest", "#" + std::string((std::size_t{1} << 20) - 1, 'a'));
  CHECK(arguments_of({"--flagfile=" + largest}, error).empty());
  CHECK_FALSE(error);
}
