// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/bucket.hpp>

#include <algorithm>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace sim {

DISTRIB_DECL auto Bucket::perform_one() -> std::optional<Performed> {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < waiting_.size(); ++i)
    if (!waiting_[i].slow || dice_.percent(1)) due.push_back(i);
  if (due.empty()) return std::nullopt;
  return perform(due[dice_.below(due.size())]);
}

DISTRIB_DECL auto Bucket::perform_any() -> std::optional<Performed> {
  if (waiting_.empty()) return std::nullopt;
  return perform(dice_.below(waiting_.size()));
}

DISTRIB_DECL auto Bucket::perform(std::size_t at) -> std::optional<Performed> {
  using Kind = ObjectAction::Kind;
  Waiting& one = waiting_[at];
  if (faults_.in_parts && one.action.kind == Kind::put && one.upload == 0) {  // begins; complete some time later
    one.upload = ++last_upload_;
    uploads_[one.upload] = one.action.key;
    return Performed{0, Kind::put, one.action.key, {}, false};
  }
  if (one.action.kind == Kind::remove_all && one.action.keys.size() > 1) {  // one of them; the others later
    std::vector<std::string>& keys = one.action.keys;
    std::swap(keys[dice_.below(keys.size())], keys.back());
    Performed first{0, Kind::remove, std::move(keys.back()), {}, true};
    keys.pop_back();
    objects_.erase(first.key);
    return first;
  }
  const Waiting done = std::move(one);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  Performed performed{done.request, done.action.kind, done.action.key, {}, false};
  if (done.upload != 0 && uploads_.erase(done.upload) == 0) {  // aborted: begin again, if the process still waits
    performed.answer.lost = true;
    return performed;
  }
  if (done.action.kind == Kind::remove_all && !done.action.keys.empty()) performed.key = done.action.keys.front();
  performed.changed =
      done.action.kind == Kind::put || done.action.kind == Kind::remove || done.action.kind == Kind::remove_all;
  performed.answer = answer(done.action);
  if (dice_.percent(faults_.lost_percent)) performed.answer = {.lost = true};
  return performed;
}

DISTRIB_DECL void Bucket::write(const std::string& key, ObjectBytes bytes) {
  objects_[key] = std::move(bytes);
  written_.push_back(key);
}

DISTRIB_DECL auto Bucket::answer(const ObjectAction& action) -> ObjectAnswer {
  using Kind = ObjectAction::Kind;
  ObjectAnswer answer;
  const auto object = objects_.find(action.key);
  switch (action.kind) {
    case Kind::list: {
      const bool late = faults_.late_lists && dice_.percent(30);
      const auto unseen = written_.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(written_.size(), 3));
      for (auto at = objects_.lower_bound(action.key); at != objects_.end() && at->first.starts_with(action.key); ++at)
        if (!late || std::find(unseen, written_.end(), at->first) == written_.end())
          answer.objects.push_back({at->first, at->second->size()});
      break;
    }
    case Kind::get:
    case Kind::get_end:
      if (object == objects_.end()) {
        answer.error = {std::make_error_code(std::errc::no_such_file_or_directory), action.key};
        break;
      }
      answer.bytes = *object->second;
      if (action.kind == Kind::get) break;
      answer.objects = {{action.key, answer.bytes.size()}};
      if (answer.bytes.size() > action.most_bytes)
        answer.bytes.erase(answer.bytes.begin(), answer.bytes.end() - static_cast<std::ptrdiff_t>(action.most_bytes));
      break;
    case Kind::put: write(action.key, action.bytes); break;
    case Kind::remove: objects_.erase(action.key); break;
    case Kind::remove_all:
      for (const std::string& key : action.keys) objects_.erase(key);
      break;
    case Kind::uploads:
      for (const auto& [id, key] : uploads_)
        if (key.starts_with(action.key)) answer.uploads.push_back({key, std::to_string(id)});
      break;
    case Kind::abort: {
      const auto at = std::find_if(uploads_.begin(), uploads_.end(), [&](const auto& upload) {
        return std::to_string(upload.first) == action.upload.id;
      });
      if (at != uploads_.end()) uploads_.erase(at);
      break;
    }
    case Kind::ask: break;  // it does not answer
  }
  return answer;
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib
