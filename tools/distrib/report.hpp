// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_status.hpp"
#include "failure_word.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>

#include <cstdio>
#include <string>

namespace tools {

/// Prints lines of output and failures in one of two forms, and keeps the exit code that sums them up.
class Report {
 public:
  explicit Report(bool json) : json_{json} {}

  /// Prints a line on standard output.
  void line(const std::string& text) {
    if (std::fputs((text + '\n').c_str(), stdout) < 0) worst(exit_io);
  }

  /// Reports a failure: as a line of output with JSON, otherwise as a line on standard error. The error's kind
  /// determines the exit code.
  void failure(const distrib::Error& error) { failure(error, exit_status(error.code)); }
  /// The same with this exit code.
  void failure(const distrib::Error& error, int code) {
    if (json_)
      line(distrib::JsonObject{}
               .add("error", failure_word(error.code))
               .add("where", error.where)
               .add("what", error.code.message())
               .text());
    else std::fprintf(stderr, "error: %s: %s\n", error.where.c_str(), error.code.message().c_str());
    worst(code);
  }

  /// Prints something worth knowing that is not a failure, on standard error in both forms.
  static void note(const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); }

  /// Reports wrong usage, in the form of a failure.
  void refuse(const std::string& where, const std::string& what) {
    if (json_)
      line(distrib::JsonObject{}.add("error", "invalid_argument").add("where", where).add("what", what).text());
    else std::fprintf(stderr, "error: %s: %s\n", where.c_str(), what.c_str());
    worst(exit_usage);
  }

  /// Reports something that the user should know and that does not change the exit code, in the form of a failure.
  void warning(const std::string& where, const std::string& what) {
    if (json_) line(distrib::JsonObject{}.add("warning", what).add("where", where).text());
    else std::fprintf(stderr, "warning: %s: %s\n", where.c_str(), what.c_str());
  }

  /// True if `path` may be written: it does not exist, or `force` is set. Otherwise reports wrong usage.
  auto may_write(const std::string& path, bool force) -> bool {
    if (force || !distrib::detail::path_exists(path)) return true;
    refuse(path, "the file exists already; --force replaces it");
    return false;
  }

  /// Notes an exit code; the largest one counts.
  void worst(int code) noexcept { code_ = code > code_ ? code : code_; }

  [[nodiscard]] auto json() const noexcept -> bool { return json_; }

  /// Ends the output. Returns the exit code.
  [[nodiscard]] auto finish() -> int {
    if (std::fflush(stdout) != 0) worst(exit_io);
    return code_;
  }

 private:
  bool json_;
  int code_ = exit_good;
};

}  // namespace tools
