// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/log_lines.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

using tools::LogLines;

namespace {

/// Returns the log of `text` when it arrives in pieces of `piece` bytes.
auto log_of(std::string_view text, std::size_t piece) -> std::string {
  LogLines lines{"ps0 | "};
  std::string log;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) lines.append(text.substr(0, piece), log);
  lines.finish(log);
  return log;
}

}  // namespace

TEST_CASE("LogLines: whole lines with the name before each, for any pieces", "[tools]") {
  struct Case {
    std::string_view text;
    std::string_view log;
  };
  const Case cases[] = {
      {"", ""},
      {"one\ntwo\n", "ps0 | one\nps0 | two\n"},
      {"one\n\n\ntwo", "ps0 | one\nps0 | \nps0 | \nps0 | two\n"},  // the last line is completed
      {"one\r\ntwo\r\n", "ps0 | one\nps0 | two\n"},
      {"10%\r20%\r100%\ndone\n", "ps0 | 100%\nps0 | done\n"},     // a progress bar: its last state
      {"10%\r20%\r", "ps0 | 20%\n"},
      {"\r10%\r100%\r\n", "ps0 | 100%\n"},
      {"old\r\r\nnew\n", "ps0 | old\nps0 | new\n"},
      {"\r\n", "ps0 | \n"},
  };
  for (const Case& c : cases)
    for (const std::size_t piece : {1U, 2U, 3U, 1000U}) {
      CAPTURE(c.text, piece);
      CHECK(log_of(c.text, piece) == c.log);
    }
}

TEST_CASE("LogLines: a line without an end is not written yet", "[tools]") {
  LogLines lines{"ps0 | "};
  std::string log;
  lines.append("loss 0.", log);
  CHECK(log.empty());
  lines.append("5\nst", log);
  CHECK(log == "ps0 | loss 0.5\n");
}

TEST_CASE("LogLines: after the end of a stream another one can begin", "[tools]") {
  LogLines lines{"ps0 | "};
  std::string log;
  lines.append("first\r", log);
  lines.finish(log);
  lines.append("\nsecond", log);
  lines.finish(log);
  CHECK(log == "ps0 | first\nps0 | \nps0 | second\n");
}

TEST_CASE("LogLines: long lines are split into pieces", "[tools]") {
  const std::string full(LogLines::longest_line, 'x');
  const std::string piece = "ps0 | " + full + "\n";
  for (const std::size_t size : {std::size_t{1000}, std::size_t{65'535}, std::size_t{1} << 20}) {
    CAPTURE(size);
    CHECK(log_of(full + "\n", size) == piece);
    CHECK(log_of(full, size) == piece);
    CHECK(log_of(full + full + "\n", size) == piece + piece);
    CHECK(log_of(full + "y\nz\n", size) == piece + "ps0 | y\nps0 | z\n");
    CHECK(log_of(full + full + full + "y", size) == piece + piece + piece + "ps0 | y\n");
    CHECK(log_of(full + "\ry\n", size) == "ps0 | y\n");
  }
}

TEST_CASE("task_lines, use_colours: colours only on terminals", "[tools]") {
  const auto one_line = [](LogLines lines) {
    std::string log;
    lines.append("hello\n", log);
    return log;
  };
  CHECK(one_line(tools::task_lines("worker2", 4, false)) == "worker2 | hello\n");
  CHECK(one_line(tools::task_lines("worker2", 4, true)) == "\x1b[34mworker2 | \x1b[0mhello\x1b[0m\n");
  CHECK(one_line(tools::task_lines("ps0", 0, true)) != one_line(tools::task_lines("ps0", 1, true)));
  CHECK(one_line(tools::task_lines("ps0", 0, true)) == one_line(tools::task_lines("ps0", 10, true)));

  CHECK(tools::use_colours(true, nullptr, "xterm"));
  CHECK(tools::use_colours(true, "", "xterm"));
  CHECK_FALSE(tools::use_colours(false, nullptr, "xterm"));
  CHECK_FALSE(tools::use_colours(true, "1", "xterm"));
  CHECK_FALSE(tools::use_colours(true, nullptr, "dumb"));
  CHECK_FALSE(tools::use_colours(true, nullptr, nullptr));
}
