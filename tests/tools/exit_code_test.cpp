// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/exit_code.hpp"

#include "support/catch.hpp"

#include <csignal>
#include <string>

using tools::Ending;
using tools::Verdict;

TEST_CASE("Ending: verdict, exit code and text of each", "[tools]") {
  struct Case {
    Ending ending;
    Verdict verdict;
    int exit_code;
    std::string words;
  };
  const Case cases[] = {
      {{0, 0}, Verdict::done, 0, "ended with code 0"},
      {{1, 0}, Verdict::retry, 1, "ended with code 1 (retry)"},
      {{0, SIGKILL}, Verdict::retry, 137, "was ended by SIGKILL"},
      {{0, SIGSEGV}, Verdict::retry, 139, "was ended by SIGSEGV"},
      {{0, SIGRTMIN + 5}, Verdict::retry, 128 + SIGRTMIN + 5, "was ended by signal " + std::to_string(SIGRTMIN + 5)},
      {{143, 0}, Verdict::retry, 143, "ended with code 143 (retry)"},  // a shell whose program got SIGTERM
      {{64, 0}, Verdict::permanent, 64, "ended with code 64 (permanent)"},
      {{78, 0}, Verdict::permanent, 78, "ended with code 78 (permanent)"},
      {{2, 0}, Verdict::permanent, 2, "ended with code 2 (permanent)"},
      {{127, 0}, Verdict::permanent, 127, "ended with code 127 (permanent)"},
      {{128, 0}, Verdict::permanent, 128, "ended with code 128 (permanent)"},
      {{255, 0}, Verdict::permanent, 255, "ended with code 255 (permanent)"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.ending.code, c.ending.signal);
    CHECK(verdict_of(c.ending) == c.verdict);
    CHECK(exit_code(c.ending) == c.exit_code);
    CHECK(to_string(c.ending) == c.words);
  }
}

TEST_CASE("Ending: made from a status of waitpid", "[tools]") {
  CHECK(tools::ending_of(W_EXITCODE(0, 0)) == Ending{0, 0});
  CHECK(tools::ending_of(W_EXITCODE(70, 0)) == Ending{70, 0});
  CHECK(tools::ending_of(W_EXITCODE(0, SIGTERM)) == Ending{0, SIGTERM});
  CHECK(tools::ending_of(W_EXITCODE(0, SIGABRT) | WCOREFLAG) == Ending{0, SIGABRT});
}
