// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/mpi_rank.hpp>

#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/core/shortest_text.hpp>

#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint32_t max_mpi_ranks = 65'536;

DISTRIB_DECL auto mpi_rank(const Environment& environment, const char* rank, const char* size, const char* local_rank,
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

DISTRIB_DECL auto open_mpi_rank(const Environment& environment, ErrorRef to) -> std::optional<MpiRank> {
  detail::ErrorOut error{to};
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

}  // namespace v0
}  // namespace distrib
