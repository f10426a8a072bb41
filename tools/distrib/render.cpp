// SPDX-License-Identifier: Apache-2.0
#include "render.hpp"

#include "exit_status.hpp"
#include "find_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tools {

namespace {

/// Returns the path of the script, relative to the command: the same in a build and where it is installed.
auto script_path() -> std::string {
  std::error_code ec;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", ec);
  return (command.parent_path().parent_path() / "share/distrib/render.py").string();
}

}  // namespace

auto render(const std::vector<std::string>& arguments) -> int {
  std::string file = script_path();
  if (::access(file.c_str(), R_OK) != 0) {
    std::fprintf(stderr, "error: %s: %s: this script is a part of the command; install the command again\n",
                 file.c_str(), std::strerror(errno));
    return exit_no_input;
  }
  const char* path = std::getenv("PATH");
  const FoundProgram python = find_program("python3", path == nullptr ? "/bin:/usr/bin" : path);
  if (python.code != 0) {
    std::fprintf(stderr,
                 "error: python3 %s: install it, on Debian with: apt-get install python3 python3-jinja2 python3-yaml\n",
                 python.reason.c_str());
    return exit_unavailable;
  }
  std::string interpreter = python.path, no_bytecode = "-B";
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{interpreter.data(), no_bytecode.data(), file.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(interpreter.c_str(), argv.data());
  std::fprintf(stderr, "error: %s: %s\n", interpreter.c_str(), std::strerror(errno));
  return exit_unavailable;
}

}  // namespace tools
