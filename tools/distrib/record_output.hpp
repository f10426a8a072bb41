// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "records.hpp"
#include "remote_records.hpp"
#include "report.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/record/record_writer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tools {

/// Writes records into a file of this machine or elsewhere, which appears whole or not at all. Failures are thrown.
class RecordOutput {
 public:
  RecordOutput(const std::string& name, const RecordsOptions& options, distrib::RecordWriterOptions writing) {
    writing.rename_on_close = true;
    if (is_remote(name)) remote_ = make_remote_output(name, options, writing);
    else local_.emplace(name, writing);
  }

  void append(distrib::ByteView payload) {
    if (remote_) remote_->append(payload);
    else local_->append(payload);
    ++records_;
  }
  void close() {
    if (remote_) remote_->close();
    else local_->close();
  }
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

 private:
  std::optional<distrib::RecordWriter> local_;
  std::unique_ptr<RemoteOutput> remote_;
  std::uint64_t records_ = 0;
};

/// True if the output may be written: there is none with this name, or it may be replaced. Otherwise reports why not.
inline auto may_write_output(const std::string& name, const RecordsOptions& options, Report& report) -> bool {
  if (!is_remote(name)) return report.may_write(name, options.force);
  if (options.force) return true;
  distrib::Error error;
  const bool exists = remote_exists(name, options, error);
  if (error) report.failure(error);
  if (exists) report.refuse(distrib::detail::shown_name(name), "the file exists already; --force replaces it");
  return !error && !exists;
}

}  // namespace tools
