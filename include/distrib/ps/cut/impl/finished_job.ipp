// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/finished_job.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/record/any_object_store.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

// Returns the prefix of a checkpoint if it holds the last step of its job.
DISTRIB_DECL auto if_finished(const BundleReader& reader, Error& error) -> std::string {
  const auto texts = reader.read_strings("distrib/job", error);
  if (error || texts.size() != 1) return {};
  const Job job = parse_job(texts.front(), error);
  std::int64_t step = 0;
  if (!error) reader.read("global_step", Slice::whole({}), std::as_writable_bytes(std::span{&step, 1}), error);
  return !error && step >= 0 && static_cast<std::uint64_t>(step) >= job.total_steps ? reader.prefix() : std::string{};
}

}  // namespace detail

DISTRIB_DECL auto finished_checkpoint(const std::string& directory, const OpenObjectStore& open) -> std::string {
  Error unread;
  return finished_checkpoint(directory, open, unread);
}

DISTRIB_DECL auto finished_checkpoint(const std::string& directory, const OpenObjectStore& open, Error& unread)
    -> std::string {
  unread = {};
  if (directory.empty()) return {};
  if (detail::is_url(directory)) {
    const std::string newest = newest_prefix(directory, open, unread);
    if (newest.empty()) return {};
    const auto reader = open_checkpoint(newest, open, unread);
    return reader ? detail::if_finished(*reader, unread) : std::string{};
  }
  std::vector<Error> refused;  // a damaged state file is ignored
  // The state file may name an export of another program. It has no job, so the job's own checkpoints count.
  const auto has_job = [](const BundleReader& found, Error& to) {
    if (found.find("distrib/job") == nullptr) to = {checkpoint_errc::not_found, found.prefix()};
  };
  const auto reader = detail::newest_of(directory, refused, has_job);
  Error ignored;
  return reader ? detail::if_finished(*reader, ignored) : std::string{};
}

}  // namespace v0
}  // namespace distrib
