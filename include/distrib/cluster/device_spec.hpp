// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A device or a part of one: its job, replica, task, type and number. A field that is not set leaves the choice open.
/// A value. Grammar and rules are the same as for TensorFlow's `DeviceSpec` (device_spec.py).
struct DeviceSpec {
  std::optional<std::string> job;  ///< Name of the job: "ps".
  std::optional<std::int64_t> replica;  ///< Number of the replica.
  std::optional<std::int64_t> task;  ///< Index of the task in its job.
  std::optional<std::string> type;  ///< "CPU", "GPU", ...
  std::optional<std::int64_t> index;  ///< Number of the device. Counts only if `type` is set.

  /// Reads "/job:ps/task:1/device:GPU:0". The parts may come in any order, and any may be missing. "/cpu:0" is short
  /// for "/device:CPU:0" (also gpu, tpu, custom and epu, in any case); a star, or no number, leaves the number open. If
  /// job, replica or task occurs twice, the last one counts. Unlike in TensorFlow, the earlier ones must be valid too.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device` if a part does not have one of
  /// these forms, or if there are two types; the result then has no field set.
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text) -> DeviceSpec;
  [[nodiscard]] DISTRIB_DECL static auto parse(std::string_view text, std::error_code& ec) -> DeviceSpec;

  /// Returns this device with the fields that `other` sets replaced by those. Type and number are separate fields.
  [[nodiscard]] DISTRIB_DECL auto merged_with(const DeviceSpec& other) const -> DeviceSpec;

  /// Returns the canonical text: "/job:J/replica:R/task:T/device:TYPE:I", without the parts that are not set, and with
  /// "*" for an open number.
  [[nodiscard]] friend auto to_string(const DeviceSpec& spec) -> std::string {
    std::string text;
    if (spec.job) text += "/job:" + *spec.job;
    if (spec.replica) text += "/replica:" + std::to_string(*spec.replica);
    if (spec.task) text += "/task:" + std::to_string(*spec.task);
    if (spec.type) text += "/device:" + *spec.type + ":" + (spec.index ? std::to_string(*spec.index) : "*");
    return text;
  }

  /// True if the canonical texts are equal.
  [[nodiscard]] auto operator==(const DeviceSpec& other) const -> bool { return to_string(*this) == to_string(other); }

 private:
  static auto is_digit(char c) noexcept -> bool { return c >= '0' && c <= '9'; }

  static auto upper(std::string_view text) -> std::string {
    std::string result{text};
    for (char& letter : result)
      if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return result;
  }

  /// Reads a number as Python's int() does: white space around it is allowed, and an underscore between two digits.
  DISTRIB_DECL static auto read_number(std::string_view text, std::optional<std::int64_t>& field) -> bool;

  auto read_type(std::string device, std::string_view number) -> bool {
    if (type) return false;  // there may be only one type
    type = std::move(device);
    return number == "*" || read_number(number, index);
  }

  /// Reads one part between slashes.
  DISTRIB_DECL auto read(std::string_view piece) -> bool;

  static auto is_short(std::string_view key) -> bool {
    constexpr std::string_view types[] = {"CPU", "GPU", "TPU", "CUSTOM", "EPU"};
    return std::find(std::begin(types), std::end(types), upper(key)) != std::end(types);
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_spec.ipp>
#endif
