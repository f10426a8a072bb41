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
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

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
  Error error;
  if (!is_known_) read_best(error);
  is_known_ = !error;
  const bool is_better = !best_ || (options_.lower_is_better ? value < *best_ : value > *best_);
  if (!error && (std::isnan(value) || !is_better)) return;
  if (!error && detail::is_url(options_.directory)) keep_objects(step, value, prefix, error);
  else if (!error) keep(step, value, prefix, error);
  if (!error) best_ = value;
  else
    report_ = Event{Event::Kind::checkpoint_refused,
                    {},
                    prefix,
                    error.code,
                    "the best checkpoint could not be kept: " + error.where + ": " + error.code.message()};
}

// Returns the content of best.json; empty: there is none, or the object store did not answer.
DISTRIB_DECL auto KeepBestCheckpoint::text_of_best(Error& error) const -> std::string {
  constexpr std::size_t most_bytes = 4096;
  if (!detail::is_url(options_.directory)) {
    std::error_code ec;
    std::string text = detail::read_up_to(detail::join_path(options_.directory, "best.json"), most_bytes, ec);
    return ec ? std::string{} : text;
  }
  ObjectDirectory directory = open_directory(options_.directory, open_, error);
  if (error) return {};
  const std::vector<std::byte> bytes = directory.store.get(directory.root + "/best.json", most_bytes, error);
  if (error.code == failure::not_found) error = {};
  return std::string{as_text(bytes)};
}

DISTRIB_DECL void KeepBestCheckpoint::read_best(Error& error) {
  const std::string text = text_of_best(error);
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
  const std::string text = json(step, value);
  const std::string temporary = path + ".writing";
  perform(FilePlan{FileAction::write(temporary, {as_bytes(text)}, {}), FileAction::sync(temporary),
                   FileAction::rename(temporary, path), FileAction::sync_directory(options_.directory)},
          error);
}

DISTRIB_DECL auto KeepBestCheckpoint::json(Step step, double value) const -> std::string {
  return "{\"metric\":" + json_text(std::string_view{options_.metric}) + ",\"value\":" + json_text(value) +
         ",\"step\":" + json_text(step) + "}\n";
}

// The same in an object store: cuts first, then the index, which makes them a checkpoint.
DISTRIB_DECL void KeepBestCheckpoint::keep_objects(Step step, double value, const std::string& prefix,
                                                   Error& error) const {
  ObjectDirectory from = open_directory(detail::directory_of(prefix), open_, error);
  if (error) return;
  ObjectDirectory to = open_directory(options_.directory, open_, error);
  if (error) return;
  const auto bucket_of = [](const ObjectDirectory& of) { return of.url.substr(0, of.url.size() - of.root.size()); };
  if (bucket_of(from) != bucket_of(to)) {
    error = {checkpoint_errc::unsupported, to.url + ": not in the bucket of the checkpoints"};
    return;
  }
  const CutObjectNames names{from.root};
  const CutObjectNames kept{to.root};
  const auto whole = ObjectCheckpoints{from}.list(error);
  if (error) return;
  const auto found = std::ranges::find(whole, step, &CheckpointKey::step);
  if (found == whole.end()) {
    error = {checkpoint_errc::no_such_checkpoint, prefix};
    return;
  }
  const auto cuts_of = [&error, &to](const std::string& index) {
    return parse_checkpoint_index(to.store.get(index, most_index_bytes, error), error);
  };
  AnyObjectStore& store = to.store;
  for (const CheckpointCut& cut : cuts_of(names.checkpoint(*found)))
    if (!error) store.copy(names.cut(cut.key), kept.cut(cut.key), error);
  if (!error) store.copy(names.checkpoint(*found), kept.checkpoint(*found), error);
  if (error) return;

  // Older ones go: first the indexes, then the cuts that no other index names.
  std::vector<CheckpointKey> all = ObjectCheckpoints{to}.list(error);
  std::erase(all, *found);
  const std::size_t others = options_.max_to_keep == 0 ? all.size() : options_.max_to_keep - 1;
  std::set<CutKey> named;
  for (std::size_t i = 0; i < all.size() && !error; ++i)
    if (i + others < all.size()) store.remove(kept.checkpoint(all[i]), error);
    else
      for (const CheckpointCut& cut : cuts_of(kept.checkpoint(all[i]))) named.insert(cut.key);
  if (error) return;
  for (const CheckpointCut& cut : cuts_of(kept.checkpoint(*found))) named.insert(cut.key);
  if (error) return;
  for (const ObjectInfo& info : store.list(kept.cuts(), error))
    if (const auto key = kept.cut_of(info.key); key && !named.contains(*key)) store.remove(info.key, error);
  if (!error) store.put(to.root + "/best.json", as_bytes(json(step, value)), error);
}

}  // namespace v0
}  // namespace distrib
