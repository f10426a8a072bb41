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
#include <system_error>

namespace tools {

namespace {

/// Empty when there is none.
auto find_script() -> std::string {
  std::error_code ec;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", ec);
  for (const std::filesystem::path& script :
       {command.parent_path().parent_path() / "share/distrib/render.py",
        std::filesystem::path{DISTRIB_TOOLS_DIR} / "render.py"})
    if (std::filesystem::is_regular_file(script, ec)) return script.string();
  return {};
}

}  // namespace

auto render(const std::vector<std::string>& arguments) -> int {
  const std::string script = find_script();
  if (script.empty()) {
    std::fprintf(stderr, "error: render.py is neither installed beside this command nor in %s\n", DISTRIB_TOOLS_DIR);
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
