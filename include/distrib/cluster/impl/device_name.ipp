// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_name.hpp>

#include <distrib/cluster/error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto is_ascii_letter(char c) noexcept -> bool { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads a device name from the front of its text.
class DeviceNameReader {
 public:
  explicit DeviceNameReader(std::string_view text) noexcept : rest_{text} {}

  [[nodiscard]] auto read(DeviceSpec& spec) -> bool {
    if (rest_ == "/") return true;
    while (!rest_.empty())
      if (!read_piece(spec)) return false;
    return true;
  }

 private:
  auto read_piece(DeviceSpec& spec) -> bool {
    if (skip("/job:")) return read_word(spec.job);
    if (skip("/replica:")) return read_number(spec.replica);
    if (skip("/task:")) return read_number(spec.task);
    if (skip("/device:")) {
      spec.index.reset();
      return read_word(spec.type) && (!skip(":") || read_number(spec.index));
    }
    if (skip("/cpu:") || skip("/CPU:")) spec.type = "CPU";
    else if (skip("/gpu:") || skip("/GPU:")) spec.type = "GPU";
    else return false;
    return read_number(spec.index);
  }

  auto skip(std::string_view prefix) -> bool {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }

  /// Reads a letter, then letters, digits and underscores. A star clears the field.
  auto read_word(std::optional<std::string>& field) -> bool {
    field.reset();
    if (skip("*")) return true;
    std::size_t size = 0;
    while (size < rest_.size() &&
           (is_ascii_letter(rest_[size]) || (size > 0 && (is_digit(rest_[size]) || rest_[size] == '_'))))
      ++size;
    field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return size > 0;
  }

  auto read_number(std::optional<std::int64_t>& field) -> bool {
    field.reset();
    if (skip("*")) return true;
    std::size_t size = 0;
    while (size < rest_.size() && is_digit(rest_[size])) ++size;
    const auto value = parse_whole<std::int64_t>(rest_.substr(0, size));
    rest_.remove_prefix(size);
    if (!value || *value > std::numeric_limits<std::int32_t>::max()) return false;
    field = value;
    return true;
  }

  static auto is_digit(char c) noexcept -> bool { return c >= '0' && c <= '9'; }

  std::string_view rest_;
};

// Sets `target` from `other` if `target` is not set. False if both are set and differ.
template <class T> auto agree(std::optional<T>& target, const std::optional<T>& other) -> bool {
  if (!target) target = other;
  return !other || target == other;
}

}  // namespace detail

DISTRIB_DECL auto parse_device_name(std::string_view text, std::error_code& ec) -> DeviceSpec {
  DeviceSpec spec;
  ec.clear();
  if (detail::DeviceNameReader{text}.read(spec)) return spec;
  ec = cluster_errc::bad_device;
  return {};
}

DISTRIB_DECL auto parse_device_name(std::string_view text) -> DeviceSpec {
  std::error_code ec;
  DeviceSpec spec = parse_device_name(text, ec);
  if (ec) throw_error(ec, "'" + std::string{text} + "'");
  return spec;
}

DISTRIB_DECL auto merge_device_names(DeviceSpec one, const DeviceSpec& other, DeviceConflict conflict,
                                     std::error_code& ec) -> DeviceSpec {
  ec.clear();
  if (!detail::agree(one.job, other.job) || !detail::agree(one.replica, other.replica) ||
      !detail::agree(one.task, other.task)) {
    ec = cluster_errc::device_conflict;
    return {};
  }
  const bool types = detail::agree(one.type, other.type);
  if (types && detail::agree(one.index, other.index)) return one;
  if (conflict == DeviceConflict::refuse) {
    ec = cluster_errc::device_conflict;
    return {};
  }
  if (!types) one.type.reset();
  one.index.reset();
  return one;
}

DISTRIB_DECL auto merge_device_names(const DeviceSpec& one, const DeviceSpec& other, DeviceConflict conflict)
    -> DeviceSpec {
  std::error_code ec;
  DeviceSpec merged = merge_device_names(one, other, conflict, ec);
  if (!ec) return merged;
  const auto differ = [](const auto& a, const auto& b) { return a && b && a != b; };
  const std::string_view what = differ(one.job, other.job)           ? "jobs"
                                : differ(one.replica, other.replica) ? "replicas"
                                : differ(one.task, other.task)       ? "tasks"
                                : differ(one.type, other.type)       ? "types"
                                                                     : "ids";
  throw_error(ec, "incompatible " + std::string{what} + ": '" + to_string(one) + "' and '" + to_string(other) + "'");
}

}  // namespace v0
}  // namespace distrib
