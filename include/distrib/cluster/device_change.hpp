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

// What TensorFlow's two generations of DeviceSpec do beyond reading, merging and printing (device_spec.py): the old one
// is changed in place, the new one answers with another.

namespace distrib {
inline namespace v0 {

/// Changes of the fields of a device: `{.task = 3, .replica = std::nullopt}` sets one and clears one.
struct DeviceChange {
  /// What happens to one field: nothing when left out, another value, or `std::nullopt` to take the value away.
  template <class T> class FieldChange {
   public:
    FieldChange() = default;
    FieldChange(std::nullopt_t) : changes_{true} {}
    template <class U>
      requires std::convertible_to<U, T>
    FieldChange(U&& value) : changes_{true}, value_{std::in_place, std::forward<U>(value)} {}

    void apply(std::optional<T>& field) const {
      if (changes_) field = value_;
    }

   private:
    bool changes_ = false;
    std::optional<T> value_{};
  };

  FieldChange<std::string> job{};
  FieldChange<std::int64_t> replica{};
  FieldChange<std::int64_t> task{};
  FieldChange<std::string> type{};  ///< "cpu" and "gpu" become upper case, as where a text is read.
  FieldChange<std::int64_t> index{};
};

/// `spec` with the fields that `change` names as it says: the new generation's `replace`.
[[nodiscard]] DISTRIB_DECL auto replaced(DeviceSpec spec, const DeviceChange& change) -> DeviceSpec;

/// The old generation's `merge_from`: `base` itself takes the fields that `other` sets.
inline void merge_from(DeviceSpec& base, const DeviceSpec& other) { base = base.merged_with(other); }

/// The old generation's `parse_from_string`: `spec` itself becomes what `text` says, and keeps nothing of what it was.
/// Fails with `cluster_errc::bad_device`; it stays as it was then.
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
