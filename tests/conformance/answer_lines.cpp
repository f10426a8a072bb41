// SPDX-License-Identifier: Apache-2.0
// Answers questions, one per line of standard input; tests/conformance/run.sh builds and runs it.
#include "answers.hpp"

#include <iostream>
#include <string>

auto main() -> int {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << conformance::answer_line(line) << '\n' << std::flush;
  return 0;
}
