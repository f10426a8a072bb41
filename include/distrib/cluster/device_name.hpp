// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_spec.hpp>
#include <distrib/core/decl.hpp>

#include <string_view>
#include <system_error>

// Devices by the rules of TensorFlow's runtime (device_name_utils.cc). They differ from the rules of its Python side
// (`DeviceSpec::parse`): each accepts texts that the other refuses.

namespace distrib {
inline namespace v0 {

/// Reads a device as the runtime does: "/job:ps/task:1/device:GPU:0". Every part needs its slash. A job or type is a
/// letter, then letters, digits and underscores; a hyphen, which the Python side accepts, is refused. "/device:GPU"
/// needs no number. The only short forms are "/cpu:0" and "/gpu:0", in lower or upper case and with a number or a star.
/// Numbers are 0 to 2^31 - 1. A star leaves a field open. "/" and "" leave all fields open. If a part occurs twice, the
/// last one counts.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device` for every other text; the result
/// then has no field set.
[[nodiscard]] DISTRIB_DECL auto parse_device_name(std::string_view text, std::error_code& ec) -> DeviceSpec;
[[nodiscard]] DISTRIB_DECL auto parse_device_name(std::string_view text) -> DeviceSpec;

namespace detail {

/// True if the runtime accepts a device that the Python side made: no hyphen in the job, no negative number, and so on.
/// Use it for the jobs of a cluster whose processes run TensorFlow.
[[nodiscard]] inline auto is_device_name(const DeviceSpec& spec) -> bool {
  std::error_code ec;
  const DeviceSpec read = parse_device_name(to_string(spec), ec);
  return !ec && read == spec;
}

}  // namespace detail

/// What `merge_device_names` does if two devices differ in type or number.
enum class DeviceConflict {
  refuse,  ///< Fails with `cluster_errc::device_conflict`.
  soften,  ///< Soft placement: leaves the number open, and the type too if the types differ.
};

/// Returns the device that satisfies both constraints; their order does not matter. (In `merged_with` the argument wins
/// instead.) After a conflict of types with `DeviceConflict::soften` the result has neither device's number.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::device_conflict` if both set a job, replica or
/// task and the values differ; also for a type or number, unless `conflict` is `soften`. The result then has no field
/// set.
[[nodiscard]] DISTRIB_DECL auto merge_device_names(DeviceSpec one, const DeviceSpec& other, DeviceConflict conflict,
                                                   std::error_code& ec) -> DeviceSpec;
[[nodiscard]] DISTRIB_DECL auto merge_device_names(const DeviceSpec& one, const DeviceSpec& other,
                                                   DeviceConflict conflict = DeviceConflict::refuse) -> DeviceSpec;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_name.ipp>
#endif
