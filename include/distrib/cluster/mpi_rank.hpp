// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <optional>
#include <vector>

// Who this process is to a launcher of MPI programs. No MPI library is needed for it, here or in the program.

namespace distrib {
inline namespace v0 {

/// A process among those of one `mpirun`. A value.
struct MpiRank {
  std::uint32_t rank = 0;                   ///< From 0, below `size`.
  std::uint32_t size = 1;                   ///< Of all hosts together, 65 536 at most.
  std::optional<std::uint32_t> local_rank;  ///< Among those of this host; empty: the launcher does not say.
  std::optional<std::uint32_t> local_size;  ///< How many those are.
  std::vector<std::uint32_t> programs;  ///< Of `mpirun -np 2 ps : -np 3 worker`: 2, 3. Ranks stand in their order.

  [[nodiscard]] auto operator==(const MpiRank&) const -> bool = default;
};

namespace detail {

DISTRIB_DECL auto mpi_rank(const Environment& environment, const char* rank, const char* size, const char* local_rank,
                           const char* local_size, Error& error) -> std::optional<MpiRank>;

}  // namespace detail

/// Of Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE, OMPI_APP_CTX_NUM_PROCS. Empty when it
/// has not started this process. Fails with `scheduler_errc::bad_variable`, `no_such_rank`, `too_many_tasks`.
[[nodiscard]] DISTRIB_DECL auto open_mpi_rank(const Environment& environment, ErrorRef to) -> std::optional<MpiRank>;
[[nodiscard]] inline auto open_mpi_rank(const Environment& environment = Environment::of_process())
    -> std::optional<MpiRank> {
  Error error;
  return detail::or_throw(open_mpi_rank(environment, error), error);
}

/// Of a launcher with PMI, as MPICH's, Intel's, and `srun --mpi=pmi2`: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID,
/// MPI_LOCALNRANKS. Empty and failing as `open_mpi_rank`.
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
