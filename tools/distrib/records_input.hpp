// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"
#include "records.hpp"
#include "remote_records.hpp"
#include "report.hpp"

#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/record/record_reader.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace tools {

/// Returns the files that the sources stand for. If a source stands for no file, reports a failure and returns none.
[[nodiscard]] inline auto files_of(const RecordsOptions& options, Report& report) -> std::vector<std::string> {
  std::vector<std::string> files;
  for (const std::string& source : options.sources) {
    distrib::Error error;
    const auto found =
        is_remote(source) ? find_remote(source, options, error) : distrib::find_files(std::vector{source}, error);
    files.insert(files.end(), found.begin(), found.end());
    if (!error) continue;
    report.failure(error);
    if (!is_remote(source)) report.worst(exit_no_input);
    return {};
  }
  return files;
}

/// Returns a reader of one of these files, on this machine or elsewhere. On failure its `error()` says why, at once or
/// with the first record.
[[nodiscard]] inline auto open_records(const std::string& file, const RecordsOptions& options,
                                       distrib::RecordReaderOptions reading = {}) -> distrib::RecordReader {
  if (options.max_record_bytes != 0) reading.max_record_bytes = options.max_record_bytes;
  if (is_remote(file)) return distrib::RecordReader{open_remote(file, options), file, reading};
  std::error_code in_reader;
  return distrib::RecordReader{file, reading, in_reader};
}

/// True if `file` is on this machine, which is necessary for reading at any position; otherwise `report` says so.
[[nodiscard]] inline auto is_here(const std::string& file, Report& report) -> bool {
  if (is_remote(file))
    report.refuse(distrib::detail::shown_name(file),
                  "this command works only with files on this machine: copy it here first");
  return !is_remote(file);
}

/// Returns options that continue after everything that is damaged.
[[nodiscard]] inline auto salvage_all() -> distrib::RecordReaderOptions {
  constexpr auto no_limit = static_cast<std::uint64_t>(-1);
  return {.damage = {distrib::DamagePolicy::OnDamage::salvage, no_limit, no_limit}};
}

/// Reports why records could not be read. If a limit is the reason, names the option that sets it.
inline void tell_failure(Report& report, distrib::Error error) {
  if (error.code == distrib::record_errc::too_large) error.where += " (--max-record-bytes)";
  report.failure(error);
}

/// "record 3 at offset 63: the payload does not match its checksum: restore the file; 21 bytes lost".
[[nodiscard]] inline auto damage_text(const distrib::Damage& range) -> std::string {
  return "record " + std::to_string(range.record) + " at offset " + std::to_string(range.offset) + ": " +
         range.code.message() + "; " + std::to_string(range.bytes) + " bytes lost";
}

/// Returns the kind of a damage as one word: the enumerator of `record_errc`. For any other code: its message.
[[nodiscard]] inline auto damage_kind(const std::error_code& code) -> std::string {
  using distrib::record_errc;
  if (code == record_errc::corrupt_length) return "corrupt_length";
  if (code == record_errc::corrupt_payload) return "corrupt_payload";
  if (code == record_errc::truncated_header) return "truncated_header";
  if (code == record_errc::truncated_payload) return "truncated_payload";
  if (code == record_errc::corrupt_compression) return "corrupt_compression";
  if (code == record_errc::truncated_compression) return "truncated_compression";
  return code.message();
}

}  // namespace tools
