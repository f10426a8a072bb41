// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/follow_core.hpp>

#include <distrib/core/sha256.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// A follower that is further behind begins with a base; a log without one for so long is damaged.
inline constexpr std::size_t max_chain = 10'000;
inline constexpr std::size_t max_former_logs = 16;

}  // namespace detail

DISTRIB_DECL void FollowCore::poll(FollowActions& out) {
  if (is_busy()) return;
  phase_ = Phase::reading_head;
  out.emplace_back(follow_action::ReadHead{});
}

DISTRIB_DECL void FollowCore::give_up(export_errc code, FollowActions& out) {
  if (code == export_errc::missing_object) ++counts_.missing;
  else if (code == export_errc::wrong_hash || code == export_errc::bad_object) ++counts_.damaged;
  if (phase_ == Phase::reading_manifests && place_) return begin_with_named_base(out);  // what is older may be removed
  const bool is_named_base = phase_ == Phase::reading_parts && place_ && link_ + 1 == chain_.size();
  if (is_named_base) refused_.push_back(reading_);
  else refused_.clear();
  if (phase_ == Phase::reading_parts) out.emplace_back(follow_action::Abandon{});
  phase_ = Phase::idle;
  chain_.clear();
  error_ = {code, reading_};
}

DISTRIB_DECL void FollowCore::head_read(const std::optional<LogHead>& head, FollowActions& out) {
  phase_ = Phase::idle;
  if (!head) {
    error_ = {export_errc::no_log, std::string{log_head_name}};
    return;
  }
  if (head->position == 0 || std::ranges::find(former_logs_, head->log) != former_logs_.end()) return;
  const bool is_other = head->log != log_;
  if (!is_other) newest_ = std::max(newest_, head->position);
  next_log_ = head->log;
  goal_ = held_ ? std::min(*held_, head->position) : head->position;
  if (!is_other && checks_.order) {
    if (head->position < position_) ++counts_.old_heads;
    if (goal_ == position_ || (goal_ < position_ && !(held_ && *held_ < position_))) return;
  }
  if (head->manifest == name_ && goal_ == head->position) return;
  from_base_ = false;
  named_.clear();
  place_.reset();
  read_manifest(head->manifest, head->position, out);
}

DISTRIB_DECL void FollowCore::read_manifest(std::string name, LogPosition position, FollowActions& out) {
  phase_ = Phase::reading_manifests;
  reading_ = std::move(name);
  reading_position_ = position;
  out.emplace_back(follow_action::Read{reading_, max_log_text_bytes});
}

DISTRIB_DECL void FollowCore::object_failed(FollowActions& out) { give_up(export_errc::missing_object, out); }

DISTRIB_DECL void FollowCore::object_read(ByteView bytes, FollowActions& out) {
  if (checks_.hashes && hash_in_name(reading_) != sha256(bytes)) return give_up(export_errc::wrong_hash, out);
  if (phase_ == Phase::reading_manifests) return manifest_read(bytes, out);
  part_read(bytes, out);
}

DISTRIB_DECL void FollowCore::manifest_read(ByteView bytes, FollowActions& out) {
  Error error;
  std::optional<LogManifest> manifest = parse_log_manifest(as_text(bytes), error);
  if (!manifest || manifest->log != next_log_ || manifest->position != reading_position_)
    return give_up(export_errc::bad_object, out);
  const std::string before = manifest->before;
  const bool is_base = manifest->is_base();
  note_bases(*manifest);
  if (manifest->position > goal_) {  // newer than where the follower is held
    if (before.empty()) return give_up(export_errc::no_such_position, out);
    return read_manifest(before, reading_position_ - 1, out);
  }
  chain_.emplace_back(reading_, std::move(*manifest));
  const bool is_own = next_log_ == log_ && !before.empty() && before == name_ && !in_doubt_;
  if (is_base ? place_.has_value() : begins_with_named_base()) return begin_with_named_base(out);
  if (is_base || is_own || !checks_.chain) {
    from_base_ = is_base;
    place_.reset();
    return begin_parts(out);
  }
  if (before.empty() || chain_.size() == detail::max_chain) return give_up(export_errc::bad_object, out);
  read_manifest(before, reading_position_ - 1, out);
}

DISTRIB_DECL void FollowCore::note_bases(const LogManifest& manifest) {
  if (manifest.bases.empty() || (!named_.empty() && named_.back() == manifest.bases)) return;
  const auto is_refused = [&](const LogBase& base) { return std::ranges::find(refused_, base.name) != refused_.end(); };
  if (std::ranges::none_of(manifest.bases, is_refused)) named_.push_back(manifest.bases);
}

// True if the follower should begin at the newest place that was found. If its own position is further back, it looks
// for that as long as the deltas from there up to the place have fewer bytes than the bases.
DISTRIB_DECL auto FollowCore::begins_with_named_base() -> bool {
  const LogManifest& oldest = chain_.back().second;
  if (!place_) {
    const auto named =
        std::ranges::find_if(named_, [&](const std::vector<LogBase>& bases) { return oldest.is_place_of(bases); });
    if (named == named_.end()) return false;
    place_ = Place{};
    place_->links = chain_.size();
    for (const LogBase& base : *named) {
      place_->parts.push_back({base.name, base.bytes, {}, {}});
      place_->bytes_left += base.bytes;
    }
    if (next_log_ != log_ || position_ == 0 || position_ >= oldest.position || in_doubt_) return true;
  }
  for (const LogPart& part : oldest.parts) {
    if (part.bytes >= place_->bytes_left) return true;
    place_->bytes_left -= part.bytes;
  }
  return false;
}

DISTRIB_DECL void FollowCore::begin_with_named_base(FollowActions& out) {
  chain_.resize(place_->links);
  from_base_ = true;
  begin_parts(out);
}

DISTRIB_DECL void FollowCore::begin_parts(FollowActions& out) {
  phase_ = Phase::reading_parts;
  link_ = chain_.size() - 1;
  part_ = 0;
  out.emplace_back(follow_action::Begin{from_base_, newest_of_chain().second});
  read_next_part(out);
}

// The bases stand for the parts of the oldest link.
DISTRIB_DECL auto FollowCore::parts_of_link() const -> const std::vector<LogPart>& {
  return place_ && link_ + 1 == chain_.size() ? place_->parts : chain_[link_].second.parts;
}

DISTRIB_DECL void FollowCore::read_next_part(FollowActions& out) {
  const LogPart& part = parts_of_link()[part_];
  reading_ = part.name;
  out.emplace_back(follow_action::Read{part.name, part.bytes});
}

DISTRIB_DECL void FollowCore::part_read(ByteView bytes, FollowActions& out) {
  const std::vector<LogPart>& parts = parts_of_link();
  const LogPart& part = parts[part_];
  Error error;
  std::optional<PartContents> contents = parse_log_part(bytes, error);
  if (!contents || contents->shard != part_ || contents->on != part.on) return give_up(export_errc::bad_object, out);
  out.emplace_back(follow_action::Apply{std::move(*contents)});
  if (++part_ == parts.size()) {
    part_ = 0;
    if (link_ == 0) {
      phase_ = Phase::finishing;
      out.emplace_back(follow_action::Finish{newest_of_chain().second});
      return;
    }
    --link_;
  }
  read_next_part(out);
}

DISTRIB_DECL void FollowCore::applied(const std::error_code& error) {
  phase_ = Phase::idle;
  if (error) {
    error_ = {error, newest_of_chain().first};
    in_doubt_ = error == export_errc::wrong_digest || error == export_errc::bad_object;
    if (in_doubt_) ++counts_.wrong_digests;
    if (in_doubt_ && place_) refused_.push_back(place_->parts.front().name);
    else refused_.clear();
    chain_.clear();
    return;
  }
  error_ = {};
  refused_.clear();
  in_doubt_ = false;
  if (next_log_ != log_ && log_ != 0) {
    former_logs_.push_back(log_);
    if (former_logs_.size() > detail::max_former_logs) former_logs_.erase(former_logs_.begin());
  }
  if (next_log_ != log_) newest_ = 0;
  log_ = next_log_;
  name_ = newest_of_chain().first;
  position_ = newest_of_chain().second.position;
  newest_ = std::max(newest_, position_);
  ++counts_.positions;
  if (from_base_) ++counts_.bases;
  chain_.clear();
}

}  // namespace v0
}  // namespace distrib
