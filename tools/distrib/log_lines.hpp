// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tools {

/// Turns the output of one stream of a task into whole lines, with the task's name before each.
///
/// A line ends with "\n" or "\r\n". Text after a "\r" alone replaces what is before it in the line, as on a terminal:
/// so the log has the last state of a progress bar. A line longer than `longest_line` is split into pieces of that
/// size, each on a line of its own, so that memory is bounded for any output.
class LogLines {
 public:
  static constexpr std::size_t longest_line = 64 << 10;

  /// `before`: text at the start of each line. `after`: text at its end, before the line end.
  explicit LogLines(std::string before, std::string after = {})
      : before_{std::move(before)}, after_{std::move(after)} {}

  /// Takes the next bytes of the stream; appends the lines that are complete now to `to`.
  void append(std::string_view bytes, std::string& to) {
    while (!bytes.empty()) {
      const std::size_t text = std::min(bytes.find_first_of("\r\n"), bytes.size());
      append_text(bytes.substr(0, text), to);
      if (text == bytes.size()) return;
      if (bytes[text] == '\n') end_line(to);
      else returned_ = true;
      bytes.remove_prefix(text + 1);
    }
  }

  /// Ends the stream: completes a last line that has no end. Afterwards a new stream can begin.
  void finish(std::string& to) {
    if (!line_.empty()) end_line(to);
    returned_ = false;
    cut_ = false;
  }

 private:
  void append_text(std::string_view text, std::string& to) {
    if (text.empty()) return;
    if (returned_) line_.clear();
    returned_ = false;
    while (line_.size() + text.size() > longest_line) {
      const std::size_t fits = longest_line - line_.size();
      line_ += text.substr(0, fits);
      text.remove_prefix(fits);
      end_line(to);
      cut_ = true;
    }
    line_ += text;
  }

  void end_line(std::string& to) {
    if (!line_.empty() || !cut_) to.append(before_).append(line_).append(after_).append("\n");
    line_.clear();
    returned_ = false;
    cut_ = false;
  }

  std::string before_;
  std::string after_;
  std::string line_;
  bool returned_ = false;  // the last byte was "\r": the next text replaces the line
  bool cut_ = false;       // pieces of this line were written already
};

/// True if the output to a stream should have colours: the stream is a terminal that can show them, and the user does
/// not object (https://no-color.org).
[[nodiscard]] inline auto use_colours(bool terminal, const char* no_color, const char* term) -> bool {
  if (!terminal || (no_color != nullptr && *no_color != '\0')) return false;
  return term != nullptr && std::string_view{term} != "dumb";
}

/// Returns an object for the lines of a task's stream, with "worker2 | " before each. `coloured`: the name has the
/// colour with this number, and colours that the task leaves on end with the line.
[[nodiscard]] inline auto task_lines(const std::string& name, std::size_t number, bool coloured) -> LogLines {
  if (!coloured) return LogLines{name + " | "};
  constexpr std::array colours{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"};
  return LogLines{"\x1b[" + std::string{colours[number % colours.size()]} + "m" + name + " | \x1b[0m", "\x1b[0m"};
}

}  // namespace tools
