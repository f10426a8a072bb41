// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/write_result_json.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/patience.hpp>
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
  JsonObject object;
  object.add("ps", result.ps).add("workers", result.workers).add("shards", result.shards).add("mode", result.mode);
  object.add("steps", result.steps).add("complete", result.complete).add("seconds", result.seconds);
  object.add("examples_per_second", result.examples_per_second).add("steps_per_second", result.steps_per_second);
  object.add_json("test_accuracy", accuracy ? json_text(*accuracy) : "null").add("loss", result.loss);
  object.add("parameters_sha256", result.parameters_sha256).add("checkpoint", result.checkpoint).add("events", events);
  for (const auto& [name, value] : further) object.add(name, value);
  return object.text() + "\n";
}

// Writes an object; while the store does not answer, again and again for a minute.
DISTRIB_DECL void put_patiently(const std::string& url, std::string_view text, const OpenObjectStore& open) {
  constexpr std::chrono::seconds within{60};
  Error error;
  ObjectDirectory directory = open_directory(directory_of(url), open, error);
  throw_if(error);
  const std::string name{file_of(url)};
  const std::string key = directory.root.empty() ? name : directory.root + '/' + name;
  const auto deadline = std::chrono::steady_clock::now() + within;
  Patience pause;
  do directory.store.put(key, as_bytes(text), error);
  while (may_pass(error.code) && std::chrono::steady_clock::now() < deadline && pause.wait(std::chrono::seconds{1}));
  throw_if(error);
}

}  // namespace detail

DISTRIB_DECL void write_result_json(const std::string& path, const TrainingResult& result, std::string_view events,
                                    const std::vector<std::pair<std::string, double>>& further,
                                    const OpenObjectStore& open) {
  const std::string text = detail::result_json(result, events, further);
  if (detail::is_url(path)) return detail::put_patiently(path, text, open);
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
