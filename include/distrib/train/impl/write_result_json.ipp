// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/write_result_json.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/ps/job/directory_lock.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto result_json(const TrainingResult& result, std::string_view events,
                              const std::vector<std::pair<std::string, double>>& further) -> std::string {
  const auto accuracy = result.metrics.find("accuracy");
  std::string more;
  for (const auto& [name, value] : further) more += "," + json_text(std::string_view{name}) + ":" + json_text(value);
  return "{\"ps\":" + json_text(result.ps) + ",\"workers\":" + json_text(result.workers) +
         ",\"shards\":" + json_text(result.shards) + ",\"mode\":" + json_text(std::string_view{result.mode}) +
         ",\"steps\":" + json_text(result.steps) + ",\"complete\":" + json_text(result.complete) +
         ",\"seconds\":" + json_text(result.seconds) +
         ",\"examples_per_second\":" + json_text(result.examples_per_second) +
         ",\"steps_per_second\":" + json_text(result.steps_per_second) +
         ",\"test_accuracy\":" + (accuracy ? json_text(*accuracy) : "null") + ",\"loss\":" + json_text(result.loss) +
         ",\"parameters_sha256\":" + json_text(std::string_view{result.parameters_sha256}) +
         ",\"checkpoint\":" + json_text(std::string_view{result.checkpoint}) + ",\"events\":" + json_text(events) +
         more + "}\n";
}

}  // namespace detail

DISTRIB_DECL void write_result_json(const std::string& path, const TrainingResult& result, std::string_view events,
                                    const std::vector<std::pair<std::string, double>>& further) {
  const std::string text = detail::result_json(result, events, further);
  const std::string temporary = path + ".writing";
  const std::string directory = detail::directory_of(path);
  const std::string name{detail::file_of(path)};
  DirectoryLock lock;  // otherwise two processes could write the same temporary file at once
  Error error;
  if (detail::is_directory(directory)) lock.hold(directory, name, name, std::chrono::seconds{5}, error);
  throw_if(error);
  const auto fail = [&path] { throw_error({errno, std::generic_category()}, path); };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(temporary.c_str(), "wb"), std::fclose};
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) fail();
  if (std::fclose(file.release()) != 0 || std::rename(temporary.c_str(), path.c_str()) != 0) fail();
}

}  // namespace v0
}  // namespace distrib
