// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/finished_job.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto finished_checkpoint(const std::string& directory) -> std::string {
  if (directory.empty()) return {};
  Error error;  // a damaged state file is ignored
  const std::vector<SavedCheckpoint> list = list_checkpoints(directory, error);
  if (list.empty()) return {};
  const std::string& prefix = list.back().prefix;
  const auto reader = BundleReader::open(prefix, error);
  if (!reader) return {};
  const auto texts = reader->read_strings("distrib/job", error);
  if (error || texts.size() != 1) return {};
  const Job job = parse_job(texts.front(), error);
  std::int64_t step = 0;
  if (!error) reader->read("global_step", Slice::whole({}), std::as_writable_bytes(std::span{&step, 1}), error);
  return !error && step >= 0 && static_cast<std::uint64_t>(step) >= job.total_steps ? prefix : std::string{};
}

}  // namespace v0
}  // namespace distrib
