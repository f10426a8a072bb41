// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/pipes_core.hpp>

#include <distrib/hadoop/token.hpp>

#include <string_view>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto PipesCore::space(std::size_t least) -> std::span<std::byte> {
  if (used_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
    filled_ -= std::exchange(used_, 0);
  }
  if (buffer_.size() - filled_ < least) buffer_.resize(std::max(2 * buffer_.size(), filled_ + least));
  return std::span{buffer_}.subspan(filled_);
}

DISTRIB_DECL auto PipesCore::next() -> std::optional<PipesEvent> {
  while (!error_ && filled_ - used_ >= wanted_) {
    WritableReader reader{ByteView{buffer_}.first(filled_).subspan(used_)};
    PipesEvent event;
    const bool shown = stage_ == Stage::settings ? read_setting(reader, event) : read_message(reader, event);
    if (reader.error() == hadoop_errc::truncated) {
      wanted_ = reader.wanted();
      return std::nullopt;
    }
    if (reader.error()) fail(reader.error());
    if (error_) break;
    wanted_ = 1;
    used_ += reader.used();
    offset_ += reader.used();
    if (shown) return event;
  }
  return std::nullopt;
}

DISTRIB_DECL auto PipesCore::read_message(WritableReader& reader, PipesEvent& event) -> bool {
  const std::int64_t code = reader.vlong();
  if (reader.error()) return false;
  event.kind = static_cast<PipesMessage>(code);
  const Stage stage = stage_;
  Stage after = stage;
  const auto only_in = [&](bool allowed, Stage then) {
    if (!allowed) fail(hadoop_errc::unexpected_message, code);
    after = then;
    return allowed;
  };
  if (code < 0 || code > 10) return fail(hadoop_errc::unknown_message, code);
  if (stage == Stage::stranger && event.kind != PipesMessage::authentication_request)
    return fail(hadoop_errc::unauthenticated, code);
  switch (event.kind) {
    case PipesMessage::authentication_request:
      if (!only_in(stage == Stage::stranger, Stage::proven) || !authenticate(reader)) return false;
      break;
    case PipesMessage::start:
      if (!only_in(stage == Stage::proven, Stage::started)) return false;
      if (const std::int64_t version = reader.vlong(); !reader.error() && version != 0)
        return fail(hadoop_errc::unknown_version, version);
      break;
    case PipesMessage::job_conf:
      if (!only_in(stage == Stage::started, Stage::settings)) return false;
      strings_left_ = reader.vint(0);
      if (!reader.error() && strings_left_ % 2 != 0) return fail(hadoop_errc::bad_number, strings_left_);
      if (!reader.error() && strings_left_ == 0) after = Stage::configured;
      break;
    case PipesMessage::run_map: {
      if (!only_in(stage == Stage::configured, Stage::closed)) return false;
      event.first = reader.bytes(options_.most_bytes);
      event.reduces = static_cast<std::uint32_t>(reader.vint(0));
      event.java = reader.vint() != 0;
      if (event.java) after = Stage::map_types;
      break;
    }
    case PipesMessage::input_types:
      if (!only_in(stage == Stage::map_types, Stage::map)) return false;
      event.first = reader.bytes(options_.most_bytes);
      event.second = reader.bytes(options_.most_bytes);
      break;
    case PipesMessage::map_item:
      if (!only_in(stage == Stage::map_types || stage == Stage::map, Stage::map)) return false;
      event.first = reader.bytes(options_.most_bytes);
      event.second = reader.bytes(options_.most_bytes);
      break;
    case PipesMessage::run_reduce:
      if (!only_in(stage == Stage::configured, Stage::reduce)) return false;
      reader.vint();
      event.java = reader.vint() != 0;
      break;
    case PipesMessage::reduce_key:
      if (!only_in(stage == Stage::reduce || stage == Stage::values, Stage::values)) return false;
      event.first = reader.bytes(options_.most_bytes);
      break;
    case PipesMessage::reduce_value:
      if (!only_in(stage == Stage::values, Stage::values)) return false;
      event.second = reader.bytes(options_.most_bytes);
      break;
    case PipesMessage::close:
      if (!only_in(stage == Stage::map_types || stage == Stage::map || stage == Stage::reduce || stage == Stage::values,
                   Stage::closed))
        return false;
      break;
    case PipesMessage::abort: return fail(hadoop_errc::aborted);
    default: return fail(hadoop_errc::unknown_message, code);
  }
  if (reader.error() || error_) return false;
  stage_ = after;
  return event.kind != PipesMessage::job_conf || stage_ == Stage::configured;
}

DISTRIB_DECL auto PipesCore::read_setting(WritableReader& reader, PipesEvent& event) -> bool {
  const std::size_t room = options_.most_conf_bytes - conf_bytes_;
  const std::string_view name = reader.text(room);
  const std::string_view value = reader.text(room - name.size());
  if (reader.error()) return false;
  // Memory of a setting besides its text: an empty setting also counts.
  constexpr std::size_t beside = 16;
  const std::size_t size = name.size() + value.size() + beside;
  if (size > room) return fail(hadoop_errc::too_large);
  conf_bytes_ += size;
  conf_.set(std::string{name}, std::string{value});
  strings_left_ -= 2;
  if (strings_left_ != 0) return false;
  stage_ = Stage::configured;
  event.kind = PipesMessage::job_conf;
  return true;
}

DISTRIB_DECL auto PipesCore::authenticate(WritableReader& reader) -> bool {
  constexpr std::size_t longest = 1024;  // a peer that is not authenticated yet cannot make the task store more
  const std::string_view digest = reader.text(longest);
  const std::string_view challenge = reader.text(longest);
  if (reader.error()) return false;
  if (!options_.token) return true;
  std::error_code ec;
  if (!token_digest_matches(*options_.token, challenge, digest, ec))
    return fail(ec ? ec : make_error_code(hadoop_errc::wrong_digest));
  append_message(outbox_, PipesMessage::authentication_response);
  detail::append_bytes(outbox_, as_bytes(token_digest(*options_.token, digest, digest.size(), ec)));
  return true;
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
