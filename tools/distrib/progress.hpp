// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bytes_text.hpp"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace tools {

/// Shows the progress of long work. Prints nothing in the first second; then on a terminal one line that is updated,
/// elsewhere (a pipe, a log) a line every ten seconds. Reads the clock only once for every MiB of work.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `files`: number of files. `stream`: where to print.
  explicit Progress(std::size_t files, std::FILE* stream = stderr)
      : files_{files}, stream_{stream}, terminal_{::isatty(::fileno(stream)) == 1} {}
  Progress(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Starts work on the next file.
  void begin(std::string file) {
    file_ = std::move(file);
    ++number_;
  }

  /// Reports that this number of further bytes is done.
  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ - asked_ < (1U << 20)) return;
    asked_ = bytes_;
    tell(Clock::now());
  }

  /// Removes the line from the terminal, so that something else can be printed.
  void clear() {
    if (!shown_) return;
    std::fputs("\r\033[K", stream_);
    std::fflush(stream_);
    shown_ = false;
  }

  /// "2 of 10 files, 1.5 GiB, 310 MiB/s: part-00001".
  [[nodiscard]] auto line(std::chrono::duration<double> elapsed) const -> std::string {
    const double rate = elapsed.count() > 0 ? static_cast<double>(bytes_) / elapsed.count() : 0;
    std::string text = files_ > 1 ? std::to_string(number_) + " of " + std::to_string(files_) + " files, " : "";
    return text + bytes_text(bytes_) + ", " + bytes_text(static_cast<std::uint64_t>(rate)) + "/s: " + file_;
  }

 private:
  void tell(Clock::time_point now) {
    if (now < due_) return;
    due_ = now + (terminal_ ? std::chrono::milliseconds{200} : std::chrono::milliseconds{10'000});
    const std::string text = line(now - start_);
    if (terminal_) std::fprintf(stream_, "\r%.110s\033[K", text.c_str());
    else std::fprintf(stream_, "%s\n", text.c_str());
    std::fflush(stream_);
    shown_ = terminal_;
  }

  std::size_t files_;
  std::FILE* stream_;
  bool terminal_;
  std::string file_;
  std::size_t number_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t asked_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point due_ = start_ + std::chrono::seconds{1};
  bool shown_ = false;
};

}  // namespace tools
