// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib::inline v0 {

/// Why a parameter server or a worker refused something.
enum class ps_errc {
  job_mismatch = 1,  ///< A checkpoint or a worker belongs to another job. Use the model, initializers and seed it was made with, or another directory.
  not_repeatable,    ///< One (step, rank) arrived twice with different bytes. Make the model and its input a pure function of (seed, step, rank).
  unknown_rank,      ///< A message names a rank that the job does not have. Start as many workers as the job says.
  wrong_size,        ///< A contribution has another size than the shard's variables. Run the same model on every worker.
  no_such_task,      ///< A placement strategy named a ps task that the job does not have. Let it answer below `num_tasks`.
};

namespace detail {
inline constexpr ErrorText ps_texts[] = {
    {static_cast<int>(ps_errc::job_mismatch), failure::mismatch, "this belongs to another job"},
    {static_cast<int>(ps_errc::not_repeatable), failure::mismatch,
     "a contribution arrived twice with different bytes: the model or its input is not repeatable"},
    {static_cast<int>(ps_errc::unknown_rank), failure::invalid_argument, "the job has no such rank"},
    {static_cast<int>(ps_errc::wrong_size), failure::invalid_argument,
     "the contribution has another size than the shard's variables"},
    {static_cast<int>(ps_errc::no_such_task), failure::invalid_argument,
     "a placement strategy named a ps task that the job does not have"},
};
}  // namespace detail

/// Category "distrib.ps".
[[nodiscard]] inline auto ps_category() noexcept -> const std::error_category& {
  static const detail::TableCategory category{"distrib.ps", detail::ps_texts};
  return category;
}

[[nodiscard]] inline auto make_error_code(ps_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), ps_category()};
}

}  // namespace distrib::inline v0

template <>
struct std::is_error_code_enum<distrib::ps_errc> : std::true_type {};
