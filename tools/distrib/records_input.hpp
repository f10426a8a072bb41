// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"
#include "records.hpp"
#include "report.hpp"

#include <distrib/core/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/record/record_reader.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace tools {

/// The files that the sources stand for; none and a failure in `report` when one stands for nothing.
[[nodiscard]] inline auto files_of(const RecordsOptions& options, Report& report) -> std::vector<std::string> {
  distrib::Error error;
  auto files = distrib::find_files(options.sources, error);
  if (error) {
    report.failure(error);
    report.worst(exit_no_input);
  }
  return files;
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
