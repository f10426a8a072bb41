// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <optional>
#include <vector>

// The rank of this process, as a launcher of MPI programs sets it. Neither this file nor the program needs an MPI
// library.

namespace distrib {
inline namespace v0 {

/// A process among the processes of one `mpirun`. A value.
struct MpiRank {
  std::uint32_t rank = 0;  ///< 0 .. `size` - 1.
  std::uint32_t size = 1;  ///< Number of processes on all hosts together; at most 65,536.
  /// Rank among the processes of this host; empty if the launcher does not set it.
  std::optional<std::uint32_t> local_rank;
  /// Number of processes on this host; empty if the launcher does not set it.
  std::optional<std::uint32_t> local_size;
  /// Number of processes of each program: 2, 3 for `mpirun -np 2 ps : -np 3 worker`. The ranks are in the order of the
  /// programs. Empty if unknown.
  std::vector<std::uint32_t> programs;

  [[nodiscard]] auto operator==(const MpiRank&) const -> bool = default;
};

namespace detail {

/// Returns the rank that the four variables describe; empty if `rank` is not set, or on failure. Sets `error`; clears
/// it on success. Errors as for `open_mpi_rank`.
DISTRIB_DECL auto mpi_rank(const Environment& environment, const char* rank, const char* size, const char* local_rank,
                           const char* local_size, Error& error) -> std::optional<MpiRank>;

}  // namespace detail

/// Returns the rank that Open MPI's mpirun set: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE, and
/// OMPI_APP_CTX_NUM_PROCS. Empty if mpirun has not started this process.
///
/// Errors: `scheduler_errc::bad_variable`; `no_such_rank` if the rank is not below the size, or the size is not set;
/// `too_many_tasks` for more than 65,536.
[[nodiscard]] DISTRIB_DECL auto open_mpi_rank(const Environment& environment, ErrorRef to) -> std::optional<MpiRank>;
[[nodiscard]] inline auto open_mpi_rank(const Environment& environment = Environment::of_process())
    -> std::optional<MpiRank> {
  Error error;
  return detail::or_throw(open_mpi_rank(environment, error), error);
}

/// Returns the rank that a launcher with PMI set (MPICH's, Intel's, `srun --mpi=pmi2`): PMI_RANK, PMI_SIZE,
/// MPI_LOCALRANKID, MPI_LOCALNRANKS. Empty if there is none.
///
/// Errors: `scheduler_errc::bad_variable` if a variable is no number, or the local rank and size do not fit;
/// `no_such_rank` if the rank is not below the size, or the size is not set; `too_many_tasks` for more than 65,536. The
/// result is then empty.
[[nodiscard]] inline auto pmi_rank(const Environment& environment, ErrorRef to) -> std::optional<MpiRank> {
  detail::ErrorOut error{to};
  return detail::mpi_rank(environment, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", error);
}
[[nodiscard]] inline auto pmi_rank(const Environment& environment = Environment::of_process())
    -> std::optional<MpiRank> {
  Error error;
  return detail::or_throw(pmi_rank(environment, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/mpi_rank.ipp>
#endif
