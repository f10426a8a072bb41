// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Expands the two compressed lists that Slurm puts into a step's environment, without calling `scontrol`.

namespace distrib {
inline namespace v0 {

namespace detail {

/// Most hosts in a host list, and most tasks in a job. A longer list is refused before memory is allocated for it.
inline constexpr std::size_t max_slurm_tasks = 65'536;

}  // namespace detail

/// Returns the hosts of a Slurm host list, in the order of `scontrol show hostnames`. A host that is listed twice is
/// returned twice. "n[08-10],m5" is n08, n09, n10, m5. Numbers have at least as many digits as the first number of
/// their range. A range that runs backwards is empty, and so is "". A name may have several brackets, and text after
/// the last one: "r[0-1]n[1-2].lan" is r0n1.lan, r0n2.lan, r1n1.lan, r1n2.lan. Steps, and brackets inside brackets, are
/// refused.
///
/// Errors (without `to` thrown as `std::system_error`): `scheduler_errc::bad_host_list`, `too_many_tasks`.
[[nodiscard]] DISTRIB_DECL auto expand_host_list(std::string_view list, ErrorRef to) -> std::vector<std::string>;
[[nodiscard]] inline auto expand_host_list(std::string_view list) -> std::vector<std::string> {
  Error error;
  return detail::or_throw(expand_host_list(list, error), error);
}

/// Returns the number of tasks on each host, in the order of the host list: "3(x2),1" is 3, 3, 1.
///
/// Errors (without `to` thrown as `std::system_error`): `scheduler_errc::bad_tasks_per_node`; `too_many_tasks` for more
/// than 65,536 hosts or tasks.
[[nodiscard]] DISTRIB_DECL auto expand_tasks_per_node(std::string_view list, ErrorRef to) -> std::vector<std::uint32_t>;
[[nodiscard]] inline auto expand_tasks_per_node(std::string_view list) -> std::vector<std::uint32_t> {
  Error error;
  return detail::or_throw(expand_tasks_per_node(list, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/slurm_host_list.ipp>
#endif
