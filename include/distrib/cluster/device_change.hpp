// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_spec.hpp>
#include <distrib/core/decl.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// What TensorFlow's two generations of DeviceSpec do beside reading, merging and printing (device_spec.py). The old one
// changes a device in place, the new one returns another device.

namespace distrib {
inline namespace v0 {

/// Changes to the fields of a device. Example: `{.task = 3, .replica = std::nullopt}` sets the task and clears the
/// replica.
struct DeviceChange {
  /// The change to one field: default: none; a value: sets the field; `std::nullopt`: clears it.
  template <class T> class FieldChange {
   public:
    FieldChange() = default;
    /// Clears the field.
    FieldChange(std::nullopt_t) : changes_{true} {}
    /// Sets the field to `value`.
    template <class U>
      requires std::convertible_to<U, T>
    FieldChange(U&& value) : changes_{true}, value_{std::in_place, std::forward<U>(value)} {}

    /// Changes `field`; without a change leaves it as it is.
    void apply(std::optional<T>& field) const {
      if (changes_) field = value_;
    }

   private:
    bool changes_ = false;
    std::optional<T> value_{};
  };

  /// The change to each field of a `DeviceSpec`.
  FieldChange<std::string> job{};
  FieldChange<std::int64_t> replica{};
  FieldChange<std::int64_t> task{};
  FieldChange<std::string> type{};  ///< "cpu" and "gpu" become upper case, as in `DeviceSpec::parse`.
  /// The change to the number of the device.
  FieldChange<std::int64_t> index{};
};

/// Returns `spec` with the changes applied: the new generation's `replace`.
[[nodiscard]] DISTRIB_DECL auto replaced(DeviceSpec spec, const DeviceChange& change) -> DeviceSpec;

/// Sets in `base` the fields that `other` sets: the old generation's `merge_from`.
inline void merge_from(DeviceSpec& base, const DeviceSpec& other) { base = base.merged_with(other); }

/// Replaces all of `spec` by the device that `text` describes: the old generation's `parse_from_string`.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device`; `spec` is unchanged.
inline void parse_into(DeviceSpec& spec, std::string_view text, std::error_code& ec) {
  DeviceSpec read = DeviceSpec::parse(text, ec);
  if (!ec) spec = std::move(read);
}
inline void parse_into(DeviceSpec& spec, std::string_view text) { spec = DeviceSpec::parse(text); }

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_change.ipp>
#endif
