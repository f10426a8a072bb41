// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_status.hpp"
#include "failure_word.hpp"
#include "json_line.hpp"
#include "progress.hpp"
#include "records.hpp"
#include "remote_records.hpp"

#include <distrib/core/detail/files.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/record/record_reader.hpp>

#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

namespace tools {

/// Lines of output and of failures in one of two forms, and the exit code that sums them up.
class RecordsReport {
 public:
  explicit RecordsReport(bool json) : json_{json} {}

  /// A line for standard output.
  void line(const std::string& text) {
    if (std::fputs((text + '\n').c_str(), stdout) < 0) worst(exit_io);
  }

  /// A failure, and what it means for the exit code. With JSON it is a line of output, else one of standard error.
  void failure(const distrib::Error& error) {
    if (json_)
      line(JsonLine{}
               .add("error", failure_word(error.code))
               .add("where", error.where)
               .add("what", error.code.message())
               .text());
    else
      std::fprintf(stderr, "error: %s: %s\n", error.where.c_str(), error.code.message().c_str());
    worst(exit_status(error.code));
  }

  /// Wrong usage, likewise.
  void refuse(const std::string& where, const std::string& what) {
    if (json_)
      line(JsonLine{}.add("error", "invalid_argument").add("where", where).add("what", what).text());
    else
      std::fprintf(stderr, "error: %s: %s\n", where.c_str(), what.c_str());
    worst(exit_usage);
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

/// The files that the sources stand for; none and a failure in `report` when one stands for nothing.
[[nodiscard]] inline auto files_of(const RecordsOptions& options, RecordsReport& report) -> std::vector<std::string> {
  std::vector<std::string> files;
  for (const std::string& source : options.sources) {
    distrib::Error error;
    const auto found = is_remote(source) ? find_remote(source, options, error)
                                         : distrib::find_files(std::vector{source}, error);
    files.insert(files.end(), found.begin(), found.end());
    if (!error) continue;
    report.failure(error);
    if (!is_remote(source)) report.worst(exit_no_input);
    return {};
  }
  return files;
}

/// A reader of one of them, wherever it is; on failure `error()` of it says why, at once or with the first record.
[[nodiscard]] inline auto open_records(const std::string& file, const RecordsOptions& options,
                                       const distrib::RecordReaderOptions& reading = {}) -> distrib::RecordReader {
  if (is_remote(file)) return distrib::RecordReader{open_remote(file, options), file, reading};
  std::error_code in_reader;
  return distrib::RecordReader{file, reading, in_reader};
}

/// Whether `file` is here, as is needed where it is not read from the front; else `report` says so.
[[nodiscard]] inline auto is_here(const std::string& file, RecordsReport& report) -> bool {
  if (is_remote(file)) report.refuse(file, "only files of this machine have an index: copy it here first");
  return !is_remote(file);
}

/// Goes on behind everything that is damaged.
[[nodiscard]] inline auto salvage_all() -> distrib::RecordReaderOptions {
  constexpr auto no_limit = static_cast<std::uint64_t>(-1);
  return {.damage = {distrib::OnDamage::salvage, no_limit, no_limit}};
}

/// A damage's kind in a word: the enumerator of `record_errc`.
[[nodiscard]] inline auto damage_kind(const std::error_code& code) -> std::string {
  using distrib::record_errc;
  if (code == record_errc::corrupt_length) return "corrupt_length";
  if (code == record_errc::corrupt_payload) return "corrupt_payload";
  if (code == record_errc::truncated_header) return "truncated_header";
  if (code == record_errc::truncated_payload) return "truncated_payload";
  if (code == record_errc::too_large) return "too_large";
  if (code == record_errc::corrupt_compression) return "corrupt_compression";
  if (code == record_errc::truncated_compression) return "truncated_compression";
  return code.message();
}

}  // namespace tools
