// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/disk.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>

#include <set>

namespace distrib {
inline namespace v0 {
namespace sim {

DISTRIB_DECL void Disk::lose_power() {
  Names left = durable_;
  for (const Change& change : changes_) {
    if (!dice_.percent(50)) continue;
    if (!change.from.empty()) left.erase(change.from);
    if (change.file != nullptr) left[change.path] = change.file;
    else left.erase(change.path);
  }
  std::set<std::shared_ptr<File>> cut;  // files that became shorter; each may have several names
  for (auto& [path, file] : left) {
    if (!file->synced) {
      file->bytes.resize(dice_.between(file->synced_bytes, file->bytes.size()));
      file->synced = true;
      file->synced_bytes = file->bytes.size();
      cut.insert(file);
    }
    const auto at = names_.find(path);
    if (cut.contains(file) || at == names_.end() || at->second != file) put(path, *file);
  }
  for (const auto& [path, file] : names_)
    if (!left.contains(path)) ::unlink(path.c_str());
  names_ = left;
  durable_ = std::move(left);
  changes_.clear();
}

DISTRIB_DECL auto Disk::flip_bit(const std::string& path) -> bool {
  const auto at = names_.find(path);
  if (at == names_.end() || at->second->bytes.empty() || !at->second->synced || at->second->flipped) return false;
  flip(path, *at->second, dice_.below(at->second->bytes.size() * 8));
  return true;
}

DISTRIB_DECL void Disk::mend(const std::string& path) {
  const auto at = names_.find(path);
  if (at == names_.end() || !at->second->flipped) return;
  flip(path, *at->second, *at->second->flipped);
  at->second->flipped.reset();
}

DISTRIB_DECL void Disk::perform_all(std::span<const FileAction> plan) {
  using Kind = FileAction::Kind;
  Error error;
  std::vector<const std::string*> written;
  for (const FileAction& action : plan) {
    if (left_ == 0) throw Stopped{};
    --left_;
    perform_one(action, error);
    if (action.kind == Kind::write) written.push_back(&action.path);
    if (error) break;
    if (action.kind == Kind::rename)
      std::erase_if(written, [&](const auto* path) { return *path == action.from || *path == action.path; });
  }
  if (!error) return;
  for (const std::string* path : written) remove(*path);
  throw_if(error);
}

DISTRIB_DECL void Disk::perform_one(const FileAction& action, Error& error) {
  using Kind = FileAction::Kind;
  if (action.kind == Kind::write || action.kind == Kind::append) return write(action, error);
  if (action.kind == Kind::sync) {
    if (const auto at = names_.find(action.path); at != names_.end()) {
      at->second->synced = true;
      at->second->synced_bytes = at->second->bytes.size();
    }
  } else if (action.kind == Kind::sync_directory) {
    durable_ = names_;
    changes_.clear();
  } else if (action.kind == Kind::remove) {
    remove(action.path);
  } else if (action.kind == Kind::link) {
    distrib::perform(action, error);
    if (error || names_.contains(action.path)) return;
    const auto file = names_[action.path] = names_.at(action.from);
    changes_.push_back({action.path, {}, file});
  } else {
    distrib::perform(action, error);
    if (error) return;
    const auto file = names_.extract(action.from).mapped();
    names_[action.path] = file;
    changes_.push_back({action.path, action.from, file});
  }
}

DISTRIB_DECL void Disk::write(const FileAction& action, Error& error) {
  auto& file = names_[action.path];
  if (file == nullptr) {
    file = std::make_shared<File>();
    changes_.push_back({action.path, {}, file});
  }
  if (action.kind == FileAction::Kind::write) *file = {};
  file->synced = false;
  const std::size_t before = file->bytes.size();
  for (const ByteView view : action.views) file->bytes.insert(file->bytes.end(), view.begin(), view.end());
  file->bytes.insert(file->bytes.end(), action.owned.begin(), action.owned.end());
  if (is_full()) {
    file->bytes.resize(before + dice_.below(file->bytes.size() - before + 1));
    error = distrib::detail::cannot_write(action.path, std::make_error_code(std::errc::no_space_on_device));
  }
  for (const auto& [path, other] : names_)
    if (other == file) put(path, *file);
}

// Makes a new file of the system for this name. Other names that shared the old one may have to show something else.
DISTRIB_DECL void Disk::put(const std::string& path, const File& file) {
  ::unlink(path.c_str());
  Error error;
  distrib::perform(FileAction::write(path, {file.bytes}, {}), error);
  throw_if(error);
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib
