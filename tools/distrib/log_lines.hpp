// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tools {

/// What one of a task's streams says, as whole lines behind the task's name.
///
/// A line ends with "\n" or "\r\n". What a lone "\r" returns over is overwritten, as on a terminal: of a progress bar
/// the log has the last state. A line longer than `longest_line` comes in pieces of that size, each on a line of its
/// own, so memory is bounded whatever a task writes.
class LogLines {
 public:
  static constexpr std::size_t longest_line = 64 << 10;

  /// `before` each line and `after` it, in front of its end.
  explicit LogLines(std::string before, std::string after = {})
      : before_{std::move(before)}, after_{std::move(after)} {}

  /// Takes the bytes that came next; the lines that are whole now go to the end of `to`.
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

  /// The stream is over: completes a last line that has no end. Afterwards it is as new.
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
  bool returned_ = false;  // a "\r" came: what follows in this line begins it anew
  bool cut_ = false;       // the pieces so far are this line's
};

/// Whether to colour what goes to a stream: a terminal that can, and nobody who minds (https://no-color.org).
[[nodiscard]] inline auto use_colours(bool terminal, const char* no_color, const char* term) -> bool {
  if (!terminal || (no_color != nullptr && *no_color != '\0')) return false;
  return term != nullptr && std::string_view{term} != "dumb";
}

/// The lines of a task's stream: "worker2 | " before each, in the colour of that number where `coloured`. Colours that
/// the task itself leaves on end with the line.
[[nodiscard]] inline auto task_lines(const std::string& name, std::size_t number, bool coloured) -> LogLines {
  if (!coloured) return LogLines{name + " | "};
  constexpr std::array colours{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"};
  return LogLines{"\x1b[" + std::string{colours[number % colours.size()]} + "m" + name + " | \x1b[0m", "\x1b[0m"};
}

}  // namespace tools
