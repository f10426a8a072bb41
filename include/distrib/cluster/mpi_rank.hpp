// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/environment.hpp>
#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

inline constexpr std::uint32_t max_mpi_ranks = 65'536;

inline auto mpi_rank(const Environment& environment, const char* rank, const char* size, const char* local_rank,
                     const char* local_size, Error& error) -> std::optional<MpiRank> {
  error = {};
  MpiRank mine;
  const auto number = environment.number({rank}, error);
  const auto ranks = environment.number({size}, error);
  mine.local_rank = environment.number({local_rank}, error);
  mine.local_size = environment.number({local_size}, error);
  if (error || !number) return std::nullopt;
  mine.rank = *number;
  mine.size = ranks.value_or(0);
  const bool here = !mine.local_rank || !mine.local_size || *mine.local_rank < *mine.local_size;
  if (mine.rank >= mine.size) {
    error = {scheduler_errc::no_such_rank,
             std::string{rank} + '=' + std::to_string(mine.rank) + ", " + size + '=' + std::to_string(mine.size)};
  } else if (mine.size > max_mpi_ranks) {
    error = {scheduler_errc::too_many_tasks, std::to_string(mine.size) + " ranks"};
  } else if (!here || mine.local_size > mine.size) {
    error = {scheduler_errc::bad_variable, local_rank};
  }
  return error ? std::nullopt : std::optional{mine};
}

}  // namespace detail

/// Of Open MPI's mpirun: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE, OMPI_APP_CTX_NUM_PROCS. Empty when it
/// has not started this process. Fails with `scheduler_errc::bad_variable`, `no_such_rank`, `too_many_tasks`.
[[nodiscard]] inline auto open_mpi_rank(const Environment& environment, Error& error) -> std::optional<MpiRank> {
  auto mine = detail::mpi_rank(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", error);
  if (!mine) return mine;
  const std::string_view counts = environment.first_of({"OMPI_APP_CTX_NUM_PROCS"});
  std::uint64_t sum = 0;
  for (std::string_view rest = counts; !rest.empty();) {
    const std::string_view word = detail::cut_before(rest, ' ');
    if (word.empty()) continue;
    const auto count = detail::parse_whole<std::uint32_t>(word);
    if (count) mine->programs.push_back(*count);
    sum += count.value_or(detail::max_mpi_ranks + 1);
  }
  if (counts.empty() || sum == mine->size) return mine;
  error = {scheduler_errc::bad_variable, "OMPI_APP_CTX_NUM_PROCS=" + std::string{counts.substr(0, 80)} + " of " +
                                             std::to_string(mine->size) + " ranks"};
  return std::nullopt;
}
[[nodiscard]] inline auto open_mpi_rank(const Environment& environment, std::error_code& ec) -> std::optional<MpiRank> {
  return open_mpi_rank(environment, detail::CodeOf{ec});
}
[[nodiscard]] inline auto open_mpi_rank(const Environment& environment = Environment::of_process())
    -> std::optional<MpiRank> {
  Error error;
  return detail::or_throw(open_mpi_rank(environment, error), error);
}

/// Of a launcher with PMI, as MPICH's, Intel's, and `srun --mpi=pmi2`: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID,
/// MPI_LOCALNRANKS. Empty and failing as `open_mpi_rank`.
[[nodiscard]] inline auto pmi_rank(const Environment& environment, Error& error) -> std::optional<MpiRank> {
  return detail::mpi_rank(environment, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", error);
}
[[nodiscard]] inline auto pmi_rank(const Environment& environment, std::error_code& ec) -> std::optional<MpiRank> {
  return pmi_rank(environment, detail::CodeOf{ec});
}
[[nodiscard]] inline auto pmi_rank(const Environment& environment = Environment::of_process())
    -> std::optional<MpiRank> {
  Error error;
  return detail::or_throw(pmi_rank(environment, error), error);
}

}  // namespace v0
}  // namespace distrib
