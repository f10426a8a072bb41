// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/export_log.hpp>

#include <distrib/core/paths.hpp>
#include <distrib/record/error.hpp>

namespace distrib {
inline namespace v0 {

// Calls `work` with the log that the name means, and completes the place of its error. If the log cannot be opened, only
// sets `error`.
template <class Work>
void ExportLog::use(Error& error, Work work) {
  if (!detail::is_url(name_)) return work(directory_);
  error = {};
  if (opened_ == nullptr && !open_) error = {record_errc::no_object_store, detail::shown_url(name_)};
  if (opened_ == nullptr && !error) {
    ObjectDirectory directory = open_(name_, error);
    if (!error) opened_ = std::make_unique<Opened>(std::move(directory));
  }
  if (opened_ == nullptr) return;
  work(opened_->log);
  if (error && error.where.find("://") == std::string::npos)
    error.where = detail::shown_url(name_) + ": " + error.where;
}

DISTRIB_DECL auto ExportLog::read_head(Error& error) -> std::optional<StampedHead> {
  std::optional<StampedHead> head;
  use(error, [&](auto& log) { head = log.read_head(error); });
  return head;
}
DISTRIB_DECL auto ExportLog::swap_head(const std::string& version, const LogHead& head, Error& error) -> bool {
  bool is_swapped = false;
  use(error, [&](auto& log) { is_swapped = log.swap_head(version, head, error); });
  return is_swapped;
}
DISTRIB_DECL auto ExportLog::get(const std::string& name, std::uint64_t most_bytes, Error& error)
    -> std::vector<std::byte> {
  std::vector<std::byte> bytes;
  use(error, [&](auto& log) { bytes = log.get(name, most_bytes, error); });
  return bytes;
}
DISTRIB_DECL void ExportLog::put(const std::string& name, ByteView bytes, Error& error) {
  use(error, [&](auto& log) { log.put(name, bytes, error); });
}
DISTRIB_DECL void ExportLog::remove(const std::string& name, Error& error) {
  use(error, [&](auto& log) { log.remove(name, error); });
}

}  // namespace v0
}  // namespace distrib
