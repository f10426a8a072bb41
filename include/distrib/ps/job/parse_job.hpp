// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Most bytes of a description.
inline constexpr std::size_t max_job_text = std::size_t{1} << 20;
/// Most shards of a job, on all its tasks together.
inline constexpr std::uint32_t max_job_shards = 1U << 16;
/// Most ranks of a job.
inline constexpr std::uint32_t max_job_ranks = 1U << 20;
inline constexpr std::size_t max_job_updaters = 1000;  ///< Beside the one of all other variables.
inline constexpr std::uint32_t max_table_dim = 1U << 16;  ///< Most floats of a row of a table.
/// Most bytes of all variables together, and of a table whose keys are numbered: no sum of sizes and offsets overflows.
inline constexpr std::size_t max_job_bytes = std::size_t{1} << 48;

namespace detail {

/// The lines of a description, one after the other. The first that is not understood is told in `error`; from then on
/// there are no lines.
class JobLines {
 public:
  JobLines(std::string_view text, Error& error) : rest_{text}, error_{error} {}

  [[nodiscard]] auto failed() const noexcept -> bool { return static_cast<bool>(error_); }
  [[nodiscard]] auto number() const noexcept -> std::size_t { return number_; }

  /// Whether the next line is "`key` ...".
  [[nodiscard]] auto next_is(std::string_view key) const -> bool {
    return !failed() && rest_.starts_with(key) && rest_.substr(key.size()).starts_with(' ');
  }

  /// What the next line, which must be "`key` ...", has after its key.
  DISTRIB_DECL auto take(std::string_view key) -> std::string_view;

  /// The number of the next line, which must be "`key` NUMBER".
  template <class T>
  auto take_number(std::string_view key, T least, T most = std::numeric_limits<T>::max()) -> T {
    const auto value = parse_shortest<T>(take(key));
    if (value && *value >= least && *value <= most) return *value;
    fail();
    return least;
  }

  /// The line that was taken last is not understood.
  void fail() { fail("line " + std::to_string(number_) + ", '" + shown(line_) + "'"); }
  void fail(std::string where) {
    if (failed()) return;
    error_ = {ps_errc::bad_job, std::move(where)};
    rest_ = {};
  }

 private:
  // A stranger's line: not all of it, and nothing that moves the cursor of a terminal.
  static auto shown(std::string_view line) -> std::string {
    std::string text{line.substr(0, 120)};
    for (char& letter : text)
      if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') letter = '?';
    return text;
  }

  std::string_view rest_;
  std::string_view line_;
  std::size_t number_ = 0;
  Error& error_;
};

/// The parts of variable `number`: the whole, or all rows of one axis in their order. Others cannot be made
/// (`part_slices`), and so that they cover the variable once is seen in one pass.
DISTRIB_DECL void read_parts(JobLines& lines, Job& job, std::size_t number);

}  // namespace detail

/// The job that `text` describes: the opposite of `to_text`, for whoever knows no model. The text may be a stranger's;
/// what is accepted gives the same text again. Fails with `ps_errc::bad_job` at the first line that is not understood:
/// unknown or missing lines, numbers that are not canonical or beyond `max_job_...`, names that come twice, names of the
/// initial checkpoint that are not valid,
/// initializers, element types (float32; int64 and float64 of counters, which start at zeros) and consistencies that
/// this library does not have, replicas of shards that are not synchronous or have one task, custom initial values of
/// tables or beside an initial checkpoint, more replicas to aggregate than ranks, parts that do not cover each variable
/// once, in order and along one axis, or lie on no shard of the job. The updaters stay texts: see `find_updaters`.
/// Memory: a few times the text's, however large the job is.
[[nodiscard]] DISTRIB_DECL auto parse_job(std::string_view text, ErrorRef to) -> Job;
[[nodiscard]] DISTRIB_DECL auto parse_job(std::string_view text) -> Job;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/parse_job.ipp>
#endif
