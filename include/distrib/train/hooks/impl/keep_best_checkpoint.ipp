// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/keep_best_checkpoint.hpp>

#include <distrib/checkpoint/directories.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/keep_newest.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/io_action.hpp>
#include <distrib/core/json.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>

#include <cmath>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void KeepBestCheckpoint::on_saved(const CheckpointSaved& event) {
  saved_ = event;
  if (measured_ && measured_->step == event.step) look_at(event.step, measured_->value, event.prefix);
}

DISTRIB_DECL void KeepBestCheckpoint::on_evaluated(const Evaluated& event) {
  const auto value = event.metrics.find(options_.metric);
  if (!value) return;
  if (!event.checkpoint.empty()) return look_at(event.step, *value, event.checkpoint);
  measured_ = {event.step, *value};
  if (saved_ && saved_->step == event.step) look_at(event.step, *value, saved_->prefix);
}

DISTRIB_DECL void KeepBestCheckpoint::look_at(Step step, double value, const std::string& prefix) {
  if (!std::exchange(is_known_, true)) read_best();
  const bool is_better = !best_ || (options_.lower_is_better ? value < *best_ : value > *best_);
  if (std::isnan(value) || !is_better) return;
  Error error;
  keep(step, value, prefix, error);
  if (!error) best_ = value;
  else
    report_ = Event{Event::Kind::checkpoint_refused,
                    {},
                    prefix,
                    error.code,
                    "the best checkpoint could not be kept: " + error.where + ": " + error.code.message()};
}

DISTRIB_DECL void KeepBestCheckpoint::read_best() {
  std::error_code ec;
  const std::string text = detail::read_up_to(detail::join_path(options_.directory, "best.json"), 4096, ec);
  if (ec) return;
  JsonReader reader{text};
  std::optional<double> value;
  bool is_same = false;
  if (reader.next() == JsonToken::begin_object)
    while (reader.next() == JsonToken::name) {
      const std::string name{reader.text()};
      if (name == "metric" && reader.next() == JsonToken::string) is_same = reader.text() == options_.metric;
      else if (name == "value" && reader.next() == JsonToken::number) value = reader.float64();
      else reader.skip();
    }
  if (is_same) best_ = value;
}

// Links the files of the checkpoint, then names it in the state file and removes older ones. The value is written last:
// a process that is killed in between keeps the same checkpoint once more.
DISTRIB_DECL void KeepBestCheckpoint::keep(Step step, double value, const std::string& prefix, Error& error) const {
  make_directories(options_.directory, error);
  if (error) return;
  std::error_code ec;
  const std::string from = detail::directory_of(prefix);
  const std::string name{detail::file_of(prefix)};
  FilePlan plan;
  bool has_index = false;
  for (const std::string& file : detail::list_directory(from, ec)) {
    if (detail::prefix_of_file(file) != name || file.find(".part-") != std::string::npos) continue;
    if (file.ends_with(".index")) has_index = true;  // linked last: a checkpoint is there when its index is
    else plan.push_back(FileAction::link(detail::join_path(from, file), detail::join_path(options_.directory, file)));
  }
  if (!has_index) {
    error = {checkpoint_errc::no_such_checkpoint, prefix};
    return;
  }
  const std::string index = index_file_name(name);
  plan.push_back(FileAction::link(detail::join_path(from, index), detail::join_path(options_.directory, index)));
  plan.push_back(FileAction::sync_directory(options_.directory));
  perform(plan, error);
  if (error) return;
  Error ignored;  // a state file that cannot be read is replaced
  perform(plan_keep_newest(options_.directory, name, list_checkpoints(options_.directory, ignored),
                           {.max_to_keep = options_.max_to_keep}),
          error);
  if (error) return;
  const std::string path = detail::join_path(options_.directory, "best.json");
  const std::string text = "{\"metric\":" + json_text(std::string_view{options_.metric}) +
                           ",\"value\":" + json_text(value) + ",\"step\":" + json_text(step) + "}\n";
  const std::string temporary = path + ".writing";
  perform(FilePlan{FileAction::write(temporary, {as_bytes(text)}, {}), FileAction::sync(temporary),
                   FileAction::rename(temporary, path), FileAction::sync_directory(options_.directory)},
          error);
}

}  // namespace v0
}  // namespace distrib
