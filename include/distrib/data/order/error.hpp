// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a data set could not be opened or read. Other failures keep their own codes: `record_errc` for damaged files,
/// `example_errc` for records that do not fit the schema, and the operating system's codes.
enum class data_errc {
  /// No file matches a path or pattern, or no path was passed. Check it; directories and patterns leave out names that
  /// begin with "." or "_" or end in ".crc".
  no_files = 1,
  no_records,  ///< All files together hold no record. Check the program that wrote them.
  bad_batch_size,  ///< The batch size is missing or out of range. Call `batch(n)` with n from 1 to 2^31.
  too_few_records,  ///< The steps leave less than one batch. Make batches smaller, or repeat or keep more elements.
  /// Files held in memory (compressed, remote, or damaged and read with `ignore_errors`) exceed the limit. Raise
  /// `max_inflated_bytes`, or use plain local files without damage.
  inflated_too_large,
  no_such_batch,  ///< The batch number is beyond the last batch. Use numbers below `batches()`.
  bad_shard,  ///< shard(count, index) has a wrong argument. Pass a count above 0 and an index from 0 to count - 1.
  bad_interleave,  ///< interleave(cycle_length, block_length) has a wrong argument. Pass two numbers above 0.
  bad_buffer,  ///< window_shuffle or prefetch has a buffer of 0 elements. Pass a number above 0.
  no_end,  ///< A step needs elements that end, but they never end. Call `repeat` after that step.
  /// More elements cannot be read than `ignore_errors` allows. Replace the damaged files, or raise the limit.
  too_many_errors,
  cache_full,  ///< The cached elements take more memory than `cache(bytes)` allows. Raise the limit, or cache less.
  bad_state,  ///< The text or bytes are not the state of a pipeline. Pass what `state()` returned.
  other_data,  ///< The state belongs to other files or other steps. Resume with the data for which it was made.
  /// A URL where only paths can be read. Use `tfrecords_at` of <distrib/data/tfrecords_at.hpp> and link distrib::http.
  is_url,
  bad_blocks,  ///< shuffle(seed, Blocks) has a number that is 0. Pass two numbers above 0.
};

namespace detail {
inline constexpr ErrorText data_texts[] = {
    {data_errc::no_files, failure::not_found, "no file matches: check the path or pattern"},
    {data_errc::no_records, failure::not_found, "the files hold no records: check the program that wrote them"},
    {data_errc::bad_batch_size, failure::invalid_argument, "batches need a size: call batch(n) with n from 1 to 2^31"},
    {data_errc::too_few_records, failure::invalid_argument,
     "the elements are fewer than one batch: make batches smaller, or repeat or keep more elements"},
    {data_errc::inflated_too_large, failure::exhausted,
     "files held in memory need more than max_inflated_bytes: raise it, or use plain local files"},
    {data_errc::no_such_batch, failure::invalid_argument,
     "the batch number is beyond the last batch: use a number below batches()"},
    {data_errc::bad_shard, failure::invalid_argument,
     "the number of shards must be greater than zero, and the index of the shard from 0 to that number - 1"},
    {data_errc::bad_interleave, failure::invalid_argument, "cycle_length and block_length must be greater than zero"},
    {data_errc::bad_buffer, failure::invalid_argument,
     "the buffer must be greater than zero: pass its number of elements"},
    {data_errc::no_end, failure::invalid_argument, "this step needs elements that end: call repeat after it"},
    {data_errc::too_many_errors, failure::corrupt,
     "more records are damaged than ignore_errors allows: replace the damaged files, or raise the limit"},
    {data_errc::cache_full, failure::exhausted,
     "the elements need more memory than cache(bytes) allows: raise the limit, or cache less"},
    {data_errc::bad_state, failure::invalid_argument, "not the state of a pipeline: pass what state() returned"},
    {data_errc::other_data, failure::invalid_argument,
     "the state belongs to other files or other steps: resume with the data for which it was made"},
    {data_errc::is_url, failure::unsupported,
     "a URL, but only paths can be read here: use tfrecords_at of <distrib/data/tfrecords_at.hpp>"},
    {data_errc::bad_blocks, failure::invalid_argument,
     "the size of a block and the number of blocks at once must be greater than zero"},
};

/// Category "distrib.data".
[[nodiscard]] inline auto data_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.data", data_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(data_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::data_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::data_errc> : std::true_type {};
