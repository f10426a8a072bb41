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

/// Most shards of a job, on all its tasks together.
inline constexpr std::uint32_t max_job_shards = 1U << 16;
/// Most ranks of a job.
inline constexpr std::uint32_t max_job_ranks = 1U << 20;
/// Most batches of one gradient. So rank + batch * ranks fits into 32 bits.
inline constexpr std::uint32_t max_gradient_accumulation = 1U << 12;
inline constexpr std::uint32_t max_local_steps = 1U << 16;  ///< Most local steps of one contribution.
inline constexpr std::size_t max_job_updaters = 1000;  ///< Most updaters beside the one for all other variables.
inline constexpr std::size_t max_job_parts = std::size_t{1} << 17;  ///< Most parts of all variables together.
inline constexpr std::uint32_t max_table_dim = 1U << 16;  ///< Most elements of a row of a table.
/// Most bytes of all variables together, and of a table with numbered keys: so that no sum of sizes and offsets
/// overflows.
inline constexpr std::size_t max_job_bytes = std::size_t{1} << 48;

namespace detail {

/// The lines of a description, one after another. The first line that is not understood is reported in `error`; after
/// that there are no more lines.
class JobLines {
 public:
  JobLines(std::string_view text, Error& error) : rest_{text}, error_{error} {}

  /// True if a line was not understood.
  [[nodiscard]] auto failed() const noexcept -> bool { return static_cast<bool>(error_); }
  /// Number of the last line taken, from 1.
  [[nodiscard]] auto number() const noexcept -> std::size_t { return number_; }

  /// True if the next line is "`key` ...".
  [[nodiscard]] auto next_is(std::string_view key) const -> bool {
    return !failed() && rest_.starts_with(key) && rest_.substr(key.size()).starts_with(' ');
  }

  /// Takes the next line, which must be "`key` ...", and returns what follows the key. Any other line fails; the result
  /// is empty then.
  DISTRIB_DECL auto take(std::string_view key) -> std::string_view;

  /// Takes the next line, which must be "`key` NUMBER" with a number from `least` to `most`, and returns the number.
  /// Any other line fails; the result is `least` then.
  template <class T>
  auto take_number(std::string_view key, T least, T most = std::numeric_limits<T>::max()) -> T {
    const auto value = parse_shortest<T>(take(key));
    if (value && *value >= least && *value <= most) return *value;
    fail();
    return least;
  }

  /// Reports that the last line taken is not understood.
  void fail() { fail("line " + std::to_string(number_) + ", '" + shown(line_) + "'"); }
  /// Reports a failure at `where`. Only the first report counts.
  void fail(std::string where) {
    if (failed()) return;
    error_ = {ps_errc::bad_job, std::move(where)};
    rest_ = {};
  }

 private:
  // A line may come from an unknown client: show only its beginning, and nothing that moves the cursor of a terminal.
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

/// Reads the parts of variable `number`: the whole variable, or all its rows along one axis in order, each in a line of
/// its own or all in one line `parts`. `part_slices` makes no others, so one pass is enough to see that the parts cover
/// the variable once.
DISTRIB_DECL void read_parts(JobLines& lines, Job& job, std::size_t number);

}  // namespace detail

/// Returns the job for which `to_text` returns `text`, for a process that does not know the model. The text may come
/// from an unknown client. Updaters stay texts: see `find_updaters`. Memory: a few times that of the text and of
/// `max_job_parts`, however large the job is.
///
/// Errors: `ps_errc::bad_job` with the first line that is not understood (the result is then `Job{}`):
/// - a line that is unknown, missing or in the wrong place; a number that is not canonical, or beyond `max_job_...`; a
///   text above `max_job_text`;
/// - a name that occurs twice; a name of the initial checkpoint that is not valid;
/// - an initializer, a consistency or an element type that this library does not have (float32; int64 and float64 for
///   counters, which start at zeros);
/// - a reduction in a tree in a job that is not synchronous, has backup workers, or has tables;
/// - local steps without an updater, or in a job with tables;
/// - replicas in a job that is not synchronous, has backup workers, or has one task; more replicas to aggregate than
///   ranks; tables on more shards than there are virtual shards;
/// - custom initial values of a table, or beside an initial checkpoint;
/// - parts that do not cover each variable once, in order and along one axis, or that lie on no shard of the job.
[[nodiscard]] DISTRIB_DECL auto parse_job(std::string_view text, ErrorRef to) -> Job;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_job(std::string_view text) -> Job;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/parse_job.ipp>
#endif
