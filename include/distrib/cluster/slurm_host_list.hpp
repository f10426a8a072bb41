// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The two compressed lists that Slurm puts into a step's environment, written out without asking `scontrol`.

namespace distrib {
inline namespace v0 {

namespace detail {

/// Most hosts of a host list, and most tasks of a job: what asks for more is refused before memory is taken for it.
inline constexpr std::size_t max_slurm_tasks = 65'536;

}  // namespace detail

/// The hosts of a Slurm host list, in the order of `scontrol show hostnames`, doubles kept: "n[08-10],m5" is n08, n09,
/// n10, m5. Numbers have at least the digits of the first one of their range; a range that runs backwards is empty, and
/// so is "". A name may have several brackets and text behind the last: "r[0-1]n[1-2].lan" is r0n1.lan, r0n2.lan,
/// r1n1.lan, r1n2.lan. Steps and brackets in brackets have no meaning. Fails with `scheduler_errc::bad_host_list`,
/// `too_many_tasks`.
[[nodiscard]] DISTRIB_DECL auto expand_host_list(std::string_view list, ErrorRef to) -> std::vector<std::string>;
[[nodiscard]] inline auto expand_host_list(std::string_view list) -> std::vector<std::string> {
  Error error;
  return detail::or_throw(expand_host_list(list, error), error);
}

/// The task counts of a host list's hosts, in its order: "3(x2),1" is 3, 3, 1. Fails with
/// `scheduler_errc::bad_tasks_per_node`, and with `too_many_tasks` for too many in sum.
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
