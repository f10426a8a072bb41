// SPDX-License-Identifier: Apache-2.0
#include "render.hpp"

#include "exit_status.hpp"
#include "find_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tools {

namespace {

constexpr const char* script = DISTRIB_TOOLS_DIR "/render.py";

}  // namespace

auto render(const std::vector<std::string>& arguments) -> int {
  if (::access(script, R_OK) != 0) {
    std::fprintf(stderr, "error: %s: %s\n", script, std::strerror(errno));
    return exit_no_input;
  }
  const char* path = std::getenv("PATH");
  const FoundProgram python = find_program("python3", path == nullptr ? "/bin:/usr/bin" : path);
  if (python.code != 0) {
    std::fprintf(stderr, "error: python3 %s: apt-get install python3 python3-jinja2 python3-yaml\n",
                 python.reason.c_str());
    return exit_unavailable;
  }
  std::string interpreter = python.path, no_bytecode = "-B", file = script;
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{interpreter.data(), no_bytecode.data(), file.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(interpreter.c_str(), argv.data());
  std::fprintf(stderr, "error: %s: %s\n", interpreter.c_str(), std::strerror(errno));
  return exit_unavailable;
}

}  // namespace tools
