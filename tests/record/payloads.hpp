// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/record_reader.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace support {

/// Returns the payloads of all records of a file.
template <class Reader = distrib::RecordReader>
auto payloads_of(const std::filesystem::path& path, const distrib::RecordReaderOptions& options = {})
    -> std::vector<std::string> {
  std::vector<std::string> payloads;
  for (const distrib::Record& record : Reader{path, options}) payloads.emplace_back(distrib::as_text(record.bytes));
  return payloads;
}

}  // namespace support
