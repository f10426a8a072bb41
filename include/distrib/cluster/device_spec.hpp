// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A device, or a part of one: which job, replica, task, type and number of it. Fields that are not set leave the
/// choice open. A value. Grammar and rules are those of TensorFlow's `DeviceSpec` (device_spec.py).
struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<std::int64_t> replica;
  std::optional<std::int64_t> task;
  std::optional<std::string> type;    ///< "CPU", "GPU", ...
  std::optional<std::int64_t> index;  ///< Counts only with a type.

  /// Reads "/job:ps/task:1/device:GPU:0", in any order, any part left out; "/cpu:0" is short for "/device:CPU:0", a
  /// star leaves the number open. What comes later wins, though what it wins over must have a meaning too, which
  /// TensorFlow does not look at. Fails with `cluster_errc::bad_device`.
  [[nodiscard]] static auto parse(std::string_view text) -> DeviceSpec {
    std::error_code ec;
    DeviceSpec spec = parse(text, ec);
    if (ec) throw_error(ec, "'" + std::string{text} + "'");
    return spec;
  }
  [[nodiscard]] static auto parse(std::string_view text, std::error_code& ec) -> DeviceSpec {
    DeviceSpec spec;
    ec.clear();
    while (!text.empty()) {
      if (spec.read(detail::cut_before(text, '/'))) continue;
      ec = cluster_errc::bad_device;
      return {};
    }
    return spec;
  }

  /// This one, with the fields that `other` sets taken from there. Type and number are fields apart.
  template <class = void> [[nodiscard]] auto merged_with(const DeviceSpec& other) const -> DeviceSpec {
    DeviceSpec merged = *this;
    if (other.job) merged.job = other.job;
    if (other.replica) merged.replica = other.replica;
    if (other.task) merged.task = other.task;
    if (other.type) merged.type = other.type;
    if (other.index) merged.index = other.index;
    return merged;
  }

  /// Canonical text: "/job:J/replica:R/task:T/device:TYPE:I", without the parts not set; "*" for a number left open.
  [[nodiscard]] friend auto to_string(const DeviceSpec& spec) -> std::string {
    std::string text;
    if (spec.job) text += "/job:" + *spec.job;
    if (spec.replica) text += "/replica:" + std::to_string(*spec.replica);
    if (spec.task) text += "/task:" + std::to_string(*spec.task);
    if (spec.type) text += "/device:" + *spec.type + ":" + (spec.index ? std::to_string(*spec.index) : "*");
    return text;
  }

  /// Equal canonical texts.
  [[nodiscard]] auto operator==(const DeviceSpec& other) const -> bool { return to_string(*this) == to_string(other); }

 private:
  static auto is_digit(char c) noexcept -> bool { return c >= '0' && c <= '9'; }

  static auto upper(std::string_view text) -> std::string {
    std::string result{text};
    for (char& letter : result)
      if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return result;
  }

  /// As Python's int() does: with spaces around it, and an underscore between any two digits.
  static auto read_number(std::string_view text, std::optional<std::int64_t>& field) -> bool {
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

  auto read_type(std::string device, std::string_view number) -> bool {
    if (type) return false;  // only one type
    type = std::move(device);
    return number == "*" || read_number(number, index);
  }

  /// One piece between slashes.
  template <class = void> auto read(std::string_view piece) -> bool {
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

  static auto is_short(std::string_view key) -> bool {
    constexpr std::string_view types[] = {"CPU", "GPU", "TPU", "CUSTOM", "EPU"};
    return std::find(std::begin(types), std::end(types), upper(key)) != std::end(types);
  }
};

}  // namespace v0
}  // namespace distrib
