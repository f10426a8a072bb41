// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_spec.hpp>
#include <distrib/core/decl.hpp>

#include <string_view>
#include <system_error>

// Devices by the rules of TensorFlow's runtime (device_name_utils.cc), which are not those of its Python side
// (`DeviceSpec::parse`): what one of them takes, the other may refuse.

namespace distrib {
inline namespace v0 {

/// Reads a device as the runtime does: "/job:ps/task:1/device:GPU:0". Every piece needs its slash; a job or type is a
/// letter, then letters, digits and underscores (a hyphen, which Python's side lets through, is refused); "/device:GPU"
/// needs no number; "/cpu:0" and "/gpu:0", all in one case, are the only short forms, and need theirs; a star leaves
/// any field open. "/" and "" leave all open. Of two pieces of one kind the last counts. Fails with
/// `cluster_errc::bad_device`.
[[nodiscard]] DISTRIB_DECL auto parse_device_name(std::string_view text, std::error_code& ec) -> DeviceSpec;
[[nodiscard]] DISTRIB_DECL auto parse_device_name(std::string_view text) -> DeviceSpec;

namespace detail {

/// Whether the runtime takes what Python's side made: no hyphen in the job, no number below 0, and so on. Ask it of the
/// jobs of a cluster whose processes are TensorFlow's.
[[nodiscard]] inline auto is_device_name(const DeviceSpec& spec) -> bool {
  std::error_code ec;
  const DeviceSpec read = parse_device_name(to_string(spec), ec);
  return !ec && read == spec;
}

}  // namespace detail

/// What `merge_device_names` does when two devices differ in type or number.
enum class DeviceConflict {
  refuse,  ///< It fails.
  soften,  ///< Soft placement: the type and the number, or the number alone, are left open.
};

/// The device that both constraints allow, whichever comes first. Where `merged_with` lets one of them win, this fails
/// with `cluster_errc::device_conflict` when both set a job, replica or task and they differ; a type or a number too,
/// unless `conflict` softens that. With a number open after a conflict of types, that of neither counts.
[[nodiscard]] DISTRIB_DECL auto merge_device_names(DeviceSpec one, const DeviceSpec& other, DeviceConflict conflict,
                                                   std::error_code& ec) -> DeviceSpec;
[[nodiscard]] DISTRIB_DECL auto merge_device_names(const DeviceSpec& one, const DeviceSpec& other,
                                                   DeviceConflict conflict = DeviceConflict::refuse) -> DeviceSpec;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_name.ipp>
#endif
