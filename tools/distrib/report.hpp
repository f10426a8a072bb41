// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_status.hpp"
#include "failure_word.hpp"
#include "json_line.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>

#include <cstdio>
#include <string>

namespace tools {

/// Lines of output and of failures in one of two forms, and the exit code that sums them up.
class Report {
 public:
  explicit Report(bool json) : json_{json} {}

  /// A line for standard output.
  void line(const std::string& text) {
    if (std::fputs((text + '\n').c_str(), stdout) < 0) worst(exit_io);
  }

  /// A failure, and what it means for the exit code. With JSON it is a line of output, else one of standard error.
  void failure(const distrib::Error& error) { failure(error, exit_status(error.code)); }
  /// The same with what it means here.
  void failure(const distrib::Error& error, int code) {
    if (json_)
      line(JsonLine{}
               .add("error", failure_word(error.code))
               .add("where", error.where)
               .add("what", error.code.message())
               .text());
    else std::fprintf(stderr, "error: %s: %s\n", error.where.c_str(), error.code.message().c_str());
    worst(code);
  }

  /// What is worth knowing and no failure: a line of standard error, whatever the form.
  static void note(const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); }

  /// Wrong usage, likewise.
  void refuse(const std::string& where, const std::string& what) {
    if (json_) line(JsonLine{}.add("error", "invalid_argument").add("where", where).add("what", what).text());
    else std::fprintf(stderr, "error: %s: %s\n", where.c_str(), what.c_str());
    worst(exit_usage);
  }

  /// What somebody should know and what changes no exit code, likewise.
  void warning(const std::string& where, const std::string& what) {
    if (json_) line(JsonLine{}.add("warning", what).add("where", where).text());
    else std::fprintf(stderr, "warning: %s: %s\n", where.c_str(), what.c_str());
  }

  /// Refuses to write to `path` when something is there that may not be replaced; false then.
  auto may_write(const std::string& path, bool force) -> bool {
    if (force || !distrib::detail::path_exists(path)) return true;
    refuse(path, "it is there already; --force replaces it");
    return false;
  }

  /// The larger code is the worse one.
  void worst(int code) noexcept { code_ = code > code_ ? code : code_; }

  [[nodiscard]] auto json() const noexcept -> bool { return json_; }

  /// The exit code, once everything is written.
  [[nodiscard]] auto finish() -> int {
    if (std::fflush(stdout) != 0) worst(exit_io);
    return code_;
  }

 private:
  bool json_;
  int code_ = exit_good;
};

}  // namespace tools
