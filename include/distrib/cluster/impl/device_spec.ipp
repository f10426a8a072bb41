// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_spec.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto DeviceSpec::parse(std::string_view text) -> DeviceSpec {
  std::error_code ec;
  DeviceSpec spec = parse(text, ec);
  if (ec) throw_error(ec, "'" + std::string{text} + "'");
  return spec;
}

DISTRIB_DECL auto DeviceSpec::parse(std::string_view text, std::error_code& ec) -> DeviceSpec {
  DeviceSpec spec;
  ec.clear();
  while (!text.empty()) {
    if (spec.read(detail::cut_before(text, '/'))) continue;
    ec = cluster_errc::bad_device;
    return {};
  }
  return spec;
}

DISTRIB_DECL auto DeviceSpec::merged_with(const DeviceSpec& other) const -> DeviceSpec {
  DeviceSpec merged = *this;
  if (other.job) merged.job = other.job;
  if (other.replica) merged.replica = other.replica;
  if (other.task) merged.task = other.task;
  if (other.type) merged.type = other.type;
  if (other.index) merged.index = other.index;
  return merged;
}

DISTRIB_DECL auto DeviceSpec::read_number(std::string_view text, std::optional<std::int64_t>& field) -> bool {
  constexpr std::string_view blank = " \t\n\v\f\r";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blank) + 1));
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!between) digits += text[i];
  }
  const std::optional<std::int64_t> value = detail::parse_whole<std::int64_t>(digits);
  if (value) field = value;
  return value.has_value();
}

DISTRIB_DECL auto DeviceSpec::read(std::string_view piece) -> bool {
  const std::size_t colon = piece.find(':');
  const std::string_view key = piece.substr(0, colon);
  if (key.empty()) return true;
  if (colon == std::string_view::npos) return is_short(key) && read_type(upper(key), "*");
  const std::string_view rest = piece.substr(colon + 1);
  const std::size_t second = rest.find(':');
  if (second == std::string_view::npos) {
    if (key == "job") {
      job = rest;
      return true;
    }
    if (key == "replica") return read_number(rest, replica);
    if (key == "task") return read_number(rest, task);
    return is_short(key) && read_type(upper(key), rest);
  }
  const std::string_view device = rest.substr(0, second);
  const std::string_view number = rest.substr(second + 1);
  const bool old_spelling = device == "cpu" || device == "gpu";
  return key == "device" && read_type(old_spelling ? upper(device) : std::string{device}, number);
}

}  // namespace v0
}  // namespace distrib
